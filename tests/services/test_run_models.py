"""The models of a run: it has its own where it needs another one than is in use, and never asks the wrong one."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.evaluation_types import RunState
from pdfqa_core.exports.methods import methods_text
from pdfqa_core.retrieval.model_folder import ModelFolder
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.services.run_models import search_models
from pdfqa_core.types import Progress, Stored
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, HYBRID, LITERAL, METERS, WORDS
from tests.services.test_runs import WordLengths, done, request

ROWS = [{"id": "a", "question": "What do storks eat?", "answer": "Frogs."}]
OTHER = BM25.changed("llm", model="smollm2-135m")


class LoadedLLM(FakeLLM):
    """Says that it is loaded before its first reply."""

    def prepare(self, stop=None):
        yield Progress("loading other")
        if stop is not None and stop.is_set():
            raise StoppedError


@pytest.fixture
def asked(open_services, write):
    """Services whose model in use is a scripted one, and a run that asks another one."""
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue([WORDS])
    return services, llm, request("answers", write(ROWS), systems={"other": OTHER}, evidence=("none",))


def test_another_model_answers_the_run_alone_and_the_one_that_others_talk_to_stays(asked):
    services, shared, wanted = asked
    own = services.models.language.others["smollm2-135m"] = LoadedLLM()
    own.enqueue(["Frogs."])
    run = services.runs.begin(LOCAL_OWNER, wanted)
    talked = []
    for event in services.runs.go(LOCAL_OWNER, run.id):
        if isinstance(event, Progress) and "question" in event.phase:
            (stored,) = [one for one in services.answers.ask(LOCAL_OWNER, METERS, BM25) if isinstance(one, Stored)]
            talked.append(stored.turn.answer.text)
    assert talked == [WORDS]
    assert [one.answer for one in services.runs.predictions(LOCAL_OWNER, run.id).values()] == ["Frogs."]
    assert (len(own.history), len(shared.history)) == (1, 1)
    assert services.models.language.settings.model == services.models.language.named(BM25.llm).model
    assert [(one.settings.model, one.closed) for one in services.models.language.made] == [("smollm2-135m", True)]


def test_a_run_is_stopped_while_its_model_is_loaded(asked):
    services, _, wanted = asked
    services.models.language.others["smollm2-135m"] = LoadedLLM()
    run = services.runs.begin(LOCAL_OWNER, wanted)
    events = services.runs.go(LOCAL_OWNER, run.id)
    assert next(events).phase == "loading other"
    services.runs.stop(run.id)
    with pytest.raises(StoppedError, match="Stopped after 0 of 1 answers"):
        list(events)
    assert [one.closed for one in services.models.language.made] == [True]


def test_a_run_whose_model_is_not_here_fails_and_says_so(asked):
    services, _, wanted = asked
    services.models.language.others["smollm2-135m"] = None
    run = services.runs.begin(LOCAL_OWNER, wanted)
    with pytest.raises(ModelError, match="There is no language model"):
        list(services.runs.go(LOCAL_OWNER, run.id))
    assert services.runs.get(LOCAL_OWNER, run.id).state is RunState.FAILED


def test_a_model_that_somebody_chooses_during_a_run_stays_and_no_answer_of_it_counts(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue(["Frogs.", "Frogs."])
    language, chosen = services.models.language, BM25.changed("llm", model="qwen2.5-coder-0.5b").llm
    wanted = request("answers", write(ROWS), systems={"model": BM25}, evidence=("none",))
    run = services.runs.begin(LOCAL_OWNER, wanted)

    def choose_meanwhile():
        for event in services.runs.go(LOCAL_OWNER, run.id):
            if isinstance(event, Progress) and "question" in event.phase:
                language.settings = chosen

    with pytest.raises(ModelError, match="Another language model was chosen while the run went on"):
        choose_meanwhile()
    assert language.settings.model == chosen.model
    assert services.runs.predictions(LOCAL_OWNER, run.id) == {}
    assert services.runs.get(LOCAL_OWNER, run.id).state is RunState.FAILED
    language.others[language.named(BM25.llm).model] = llm
    list(services.runs.go(LOCAL_OWNER, run.id))
    assert language.settings.model == chosen.model
    assert services.runs.get(LOCAL_OWNER, run.id).state is RunState.DONE


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
