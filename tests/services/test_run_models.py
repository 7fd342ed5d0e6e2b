"""The models of a run: each is waited for, and a run that is paused and gone on with never asks the wrong one."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.evaluation_types import RunState
from pdfqa_core.exports.methods import methods_text
from pdfqa_core.models import ModelStatus, State
from pdfqa_core.retrieval.model_folder import ModelFolder
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.services.run_models import search_models
from pdfqa_core.types import Progress
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, HYBRID, LITERAL
from tests.services.test_runs import WordLengths, done, request
from tests.serving_fakes import FakeLanguage

ROWS = [{"id": "a", "question": "What do storks eat?", "answer": "Frogs."}]
OTHER = BM25.changed("llm", model="smollm2-135m")


class Switching(FakeLanguage):
    """A language model that takes some looks until it is another one."""

    def __init__(self, llm, settings, coming=None):
        self.looks, self.coming, self.used = 0, None, []
        super().__init__(llm, settings, None)
        if coming is not None:
            self.use(coming)

    def use(self, wanted):
        self.used.append(wanted.model)
        self.looks, self.coming = 5, self.named(wanted)

    @property
    def loading(self):
        return self.status.state is State.SWITCHING

    def stop_loading(self):
        self.coming = None

    def finish(self):
        while self.coming is not None:
            assert self.status.state is State.SWITCHING

    @property
    def status(self):
        if self.coming is None:
            return ModelStatus(State.READY, "fake ready")
        self.looks -= 1
        if self.looks <= 0:
            self.settings, self.coming = self.coming, None
        return ModelStatus(State.SWITCHING, "loading")

    @status.setter
    def status(self, value):
        pass


@pytest.fixture
def asked(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue(["Frogs.", "Frogs."])

    def ask(language):
        services.models.language = language(llm)
        return services, request("answers", write(ROWS), systems={"other": OTHER}, evidence=("none",))

    return ask


def test_another_model_is_loaded_for_its_system_and_the_one_before_comes_back(asked):
    services, wanted = asked(lambda llm: Switching(llm, BM25.llm))
    _, found = done(services, wanted)
    assert found.systems[0].items[0].texts["prediction"] == "Frogs."
    assert services.models.language.used == ["smollm2-135m", services.models.language.named(BM25.llm).model]


def test_a_run_that_goes_on_while_the_model_before_comes_back_waits_and_loads_its_own(asked):
    services, wanted = asked(lambda llm: Switching(llm, OTHER.llm, coming=BM25.llm))
    done(services, wanted)
    assert services.models.language.used[:2] == ["auto", "smollm2-135m"]


def test_a_run_is_stopped_while_its_model_is_loaded(asked):
    services, wanted = asked(lambda llm: Switching(llm, BM25.llm))
    run = services.runs.begin(LOCAL_OWNER, wanted)
    events = services.runs.go(LOCAL_OWNER, run.id)
    assert next(events).phase == "loading"
    services.runs.stop(run.id)
    with pytest.raises(StoppedError, match="Stopped after 0 of 1 answers"):
        list(events)
    assert (services.models.language.coming, services.models.language.used) == (None, ["smollm2-135m"])


def test_a_model_that_somebody_chooses_during_a_run_stays_and_no_answer_of_it_counts(asked):
    services, wanted = asked(lambda llm: Switching(llm, BM25.llm))
    language, chosen = services.models.language, BM25.changed("llm", model="qwen2.5-coder-0.5b").llm
    run = services.runs.begin(LOCAL_OWNER, wanted)

    def choose_meanwhile():
        for event in services.runs.go(LOCAL_OWNER, run.id):
            if isinstance(event, Progress) and "question" in event.phase:
                language.use(chosen)
                language.finish()

    with pytest.raises(ModelError, match="Another language model was chosen while the run went on"):
        choose_meanwhile()
    assert (language.used, language.settings.model) == (["smollm2-135m", chosen.model], chosen.model)
    assert services.runs.predictions(LOCAL_OWNER, run.id) == {}
    assert services.runs.get(LOCAL_OWNER, run.id).state is RunState.FAILED
    list(services.runs.go(LOCAL_OWNER, run.id))
    assert language.used == ["smollm2-135m", chosen.model, "smollm2-135m", chosen.model]
    assert services.runs.get(LOCAL_OWNER, run.id).state is RunState.DONE


def test_a_run_is_done_though_the_model_before_cannot_come_back(asked, caplog):
    class Once(Switching):
        def use(self, wanted):
            if self.used:
                raise ModelError("qwen.gguf is gone.")
            super().use(wanted)

    services, wanted = asked(lambda llm: Once(llm, BM25.llm))
    done(services, wanted)
    assert services.runs.list(LOCAL_OWNER)[0].state is RunState.DONE
    assert "not back in use: qwen.gguf is gone." in caplog.text


def folder_with(path, words):
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(words)
    return path


def test_a_run_knows_the_models_that_it_searches_with_by_their_files(services, write, tmp_path):
    bundled = ModelFolder("", "encoder", "").model_hash
    run = services.runs.begin(LOCAL_OWNER, request("answers", write(ROWS), systems={"a": LITERAL, "b": HYBRID}))
    assert [system.models for system in run.plan.systems] == [(), (("encoder", bundled),)]
    said = methods_text(run)
    assert f"encoder the bundled all-MiniLM-L6-v2 (hash `{bundled}`))" in said
    assert said.count("encoder") == 1
    one = folder_with(tmp_path / "mine", b"one")
    own = HYBRID.changed("retrieval", embedding_model=str(one), reranker="some/hub-name")
    files = services.models.files.encoders
    (_, before), reranker = search_models(own, files)
    assert (len(before), reranker) == (16, ("re-ranker", ""))
    (one / "model.safetensors").write_bytes(b"two, and longer")
    assert search_models(own, files)[0][1] != before
    (one / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no safetensors weights"):
        search_models(own, files)


def test_another_encoder_of_the_same_name_begins_another_run(services, write, tmp_path):
    mine = folder_with(tmp_path / "mine", b"one")
    settings = HYBRID.changed("retrieval", embedding_model=str(mine))
    wanted = request("answers", write(ROWS), systems={"mine": settings})
    first = services.runs.begin(LOCAL_OWNER, wanted)
    assert services.runs.begin(LOCAL_OWNER, wanted).id == first.id
    (mine / "model.safetensors").write_bytes(b"two, and longer")
    assert services.runs.begin(LOCAL_OWNER, wanted).id != first.id


def test_the_results_name_the_models_that_scored(services, write, tmp_path):
    services.runs._embedder = WordLengths
    reader = folder_with(tmp_path / "reader", b"r")
    options = {"bertscore": "yes", "qa_model": str(reader)}
    run_id, found = done(services, RunRequest("answers", write(ROWS), {"literal": LITERAL}, options=options))
    bundled = ModelFolder("", "encoder", "").model_hash
    assert found.settings["BERTScore’s encoder"] == f"all-MiniLM-L6-v2, hash {bundled}"
    assert found.settings["reading model"] == f"{reader}, hash {ModelFolder(str(reader), '', '').model_hash}"
    assert "encoder" not in found.settings
    said = methods_text(services.runs.get(LOCAL_OWNER, run_id))
    assert f"- BERTScore’s encoder: all-MiniLM-L6-v2, hash {bundled}" in said
