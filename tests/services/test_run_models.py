"""The models of a run: it has its own where it needs another one than is in use, and never asks the wrong one."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.evaluation_types import RunState
from pdfqa_core.retrieval.model_folder import ModelFolder
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.run_asking import search_models
from pdfqa_core.types import Progress, Stored
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, HYBRID, LITERAL, METERS, WORDS
from tests.services.test_runs import request

ROWS = [{"id": "a", "question": "What do storks eat?", "answer": "Frogs."}]
OTHER = BM25.changed("llm", model="smollm2-135m")


@pytest.fixture
def asked(open_services, write):
    """Services whose model in use is a scripted one, and a run that asks another one."""
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue([WORDS])
    return services, llm, request("answers", write(ROWS), systems={"other": OTHER}, evidence=("none",))


def test_another_model_answers_the_run_alone_and_the_one_that_others_talk_to_stays(asked):
    services, shared, wanted = asked
    own = services.models.language.others["smollm2-135m"] = FakeLLM()
    own.enqueue(["Frogs."])
    run = services.evaluation.begin(LOCAL_OWNER, wanted)
    talked = []
    for event in services.evaluation.go(LOCAL_OWNER, run.id):
        if isinstance(event, Progress) and "question" in event.phase:
            (stored,) = [one for one in services.answers.ask(LOCAL_OWNER, METERS, BM25) if isinstance(one, Stored)]
            talked.append(stored.turn.answer.text)
    assert talked == [WORDS]
    assert [one.answer for one in services.evaluation.runs.predictions(LOCAL_OWNER, run.id).values()] == ["Frogs."]
    assert (len(own.history), len(shared.history)) == (1, 1)
    assert services.models.language.settings.model == services.models.language.named(BM25.llm).model
    assert [(one.settings.model, one.closed) for one in services.models.language.made] == [("smollm2-135m", True)]


def test_a_run_whose_model_is_not_here_fails_and_says_so(asked):
    services, _, wanted = asked
    services.models.language.others["smollm2-135m"] = None
    run = services.evaluation.begin(LOCAL_OWNER, wanted)
    with pytest.raises(ModelError, match="There is no language model"):
        list(services.evaluation.go(LOCAL_OWNER, run.id))
    assert services.evaluation.runs.get(LOCAL_OWNER, run.id).state is RunState.FAILED


def test_a_model_that_somebody_chooses_during_a_run_stays_and_no_answer_of_it_counts(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue(["Frogs.", "Frogs."])
    language, chosen = services.models.language, BM25.changed("llm", model="qwen2.5-coder-0.5b").llm
    wanted = request("answers", write(ROWS), systems={"model": BM25}, evidence=("none",))
    run = services.evaluation.begin(LOCAL_OWNER, wanted)

    def choose_meanwhile():
        for event in services.evaluation.go(LOCAL_OWNER, run.id):
            if isinstance(event, Progress) and "question" in event.phase:
                language.settings = chosen

    with pytest.raises(ModelError, match="Another language model was chosen while the run went on"):
        choose_meanwhile()
    assert language.settings.model == chosen.model
    assert services.evaluation.runs.predictions(LOCAL_OWNER, run.id) == {}
    assert services.evaluation.runs.get(LOCAL_OWNER, run.id).state is RunState.FAILED
    language.others[language.named(BM25.llm).model] = llm
    list(services.evaluation.go(LOCAL_OWNER, run.id))
    assert language.settings.model == chosen.model
    assert services.evaluation.runs.get(LOCAL_OWNER, run.id).state is RunState.DONE


def folder_with(path, words):
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(words)
    return path


def test_a_run_knows_the_models_that_it_searches_with_by_their_files(services, write, tmp_path):
    bundled = ModelFolder("", "encoder", "").model_hash
    run = services.evaluation.begin(LOCAL_OWNER, request("answers", write(ROWS), systems={"a": LITERAL, "b": HYBRID}))
    assert [system.models for system in run.plan.systems] == [(), (("encoder", bundled),)]
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
