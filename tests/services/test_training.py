"""Training over a real workspace with tiny models: what it needs, what comes of it, stop and resume, leakage."""

from __future__ import annotations

import json

import pytest

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError, StorageError, UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.models import Encoders, ModelFiles, TrainedModel
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.retrieval import onnx_graph
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.runs import RunRequest
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import Prepared, TrainingPlan
from pdfqa_core.storage import Outcome
from pdfqa_core.synthesis import RULES
from pdfqa_core.training import (
    BI_ENCODER,
    LATE_INTERACTION,
    RoundRecord,
    Scored,
    Step,
    TrainingSettings,
    has_bf16,
    words_hash,
)
from tests.retrieval.tiny_models import multi_vector_encoder, sentence_transformer
from tests.services.helpers import BM25
from tests.serving_fakes import QUESTIONS

pytest.importorskip("sentence_transformers")
device = pytest.importorskip("torch").device
SHORT = TrainingSettings(steps=3, batch=4, learning_rate=1e-3, evaluate_every=3, patience=0)
SPLIT = BM25.changed("chunking", size=60, step=30)


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    root = tmp_path_factory.mktemp("tiny")
    return {BI_ENCODER: str(sentence_transformer(root)), LATE_INTERACTION: str(multi_vector_encoder(root))}


@pytest.fixture
def files(tmp_path):
    return ModelFiles(tmp_path, tmp_path / "models")


@pytest.fixture
def folder(files):
    """The folder that trained models are kept in."""
    return files.encoders.folder


@pytest.fixture
def services(open_services, files):
    """Services with questions by rules, all accepted."""
    found = open_services(SPLIT, files=files)
    list(found.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=0, per_passage=2), SPLIT))
    for one in found.synthesis.list(LOCAL_OWNER, [Outcome.NEW]):
        found.synthesis.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
    return found


@pytest.fixture
def plan(bases):
    def build(kind=BI_ENCODER, **changes):
        return TrainingPlan(**{"kind": kind, "base": bases[kind], "settings": SHORT, "device": "cpu", **changes})

    return build


def train(services, plan, **options):
    return list(services.training.train(LOCAL_OWNER, plan, SPLIT, **options))


def losses(events):
    return [event.loss for event in events if isinstance(event, Step)]


@pytest.mark.parametrize("kind", [BI_ENCODER, LATE_INTERACTION])
def test_a_model_comes_of_it_that_retrieves(services, plan, files, folder, kind, monkeypatch):
    monkeypatch.setattr(onnx_graph, "made_with", lambda: "")  # torch computes: graphs have tests of their own
    events = train(services, plan(kind, name="mine"))
    prepared = next(event for event in events if isinstance(event, Prepared))
    assert prepared.estimate.seconds > 0 < prepared.estimate.memory
    assert "about one document" in prepared.notes[0]
    model = events[-1]
    assert isinstance(model, TrainedModel)
    assert services.training.list() == (model,)
    record = model.record
    assert (record.examples, record.held_out) == (prepared.questions, prepared.held_out)
    assert record.settings.precision == ("bf16" if has_bf16(device("cpu")) else "fp32")
    assert [one.loss for one in record.rounds] == [record.losses[2][2], record.losses[5][2]]
    assert set(record.compared) == {"HR@5", "MRR"}
    assert record.compared["HR@5"].before.n == record.held_out
    card = (folder / "mine" / "README.md").read_text("utf-8")
    assert record.data_hash in card
    assert f"| HR@5 | {record.compared['HR@5'].before.mean:.3f} [" in card
    assert not (services.workspace / "training").exists()
    real = Encoders.with_graphs(folder / "graphs", files.encoders.find, files.encoders.find_late)
    if kind == BI_ENCODER:
        assert real.encoder("mine").encode(["the plan"]).shape == (1, 32)
        with pytest.raises(ModelError, match="Name it as embedding_model"):
            real.token_encoder("mine")
    else:
        assert real.token_encoder("mine").encode_tokens(["the plan"])[0].shape == (4, 16)
        assert real.token_encoder("mine").name == "mine"
        with pytest.raises(ModelError, match="Name it as late_model"):
            real.encoder("mine")
    assert files.encoders.remove("mine")
    assert services.training.list() == ()


def test_a_run_that_was_stopped_goes_on_with_the_same_curve(services, plan):
    whole = losses(train(services, plan(name="whole")))
    training, first = services.training.train(LOCAL_OWNER, plan(name="parts"), SPLIT, task="training"), []
    while len(losses(first)) < 2:
        first.append(next(training))
    services.tasks.stop("training")
    with pytest.raises(StoppedError, match="same command goes on"):
        first += list(training)
    with pytest.raises(UsageError, match="begun with other questions"):
        train(services, plan(name="parts", k=7))
    assert losses(first) + losses(train(services, plan(name="parts"))) == whole
    assert [model.name for model in services.training.list()] == ["parts", "whole"]
    with pytest.raises(UsageError, match="model called parts already"):
        train(services, plan(name="parts"))


def test_a_model_that_cannot_be_written_is_not_lost(services, plan, folder):
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageError, match="What was learnt is kept"):
        train(services, plan())
    assert (services.workspace / "training" / "my-bi-encoder" / "checkpoint.safetensors").is_file()
    folder.unlink()
    events = train(services, plan())
    assert losses(events) == []
    assert events[-1].name == "my-bi-encoder"
    assert [path.name for path in folder.iterdir()] == ["my-bi-encoder"]


def test_only_an_estimate_trains_nothing(services, plan, folder):
    events = train(services, plan(), only_prepare=True)
    assert isinstance(events[-1], Prepared)
    assert not any(isinstance(event, Step | Scored | RoundRecord) for event in events)
    assert not folder.exists()


def test_questions_of_passages_it_was_trained_on_do_not_measure_it(services, plan, tmp_path):
    model = train(services, plan(LATE_INTERACTION, name="mine"))[-1]
    data, _ = services.synthesis.questions_file(LOCAL_OWNER, [Outcome.ACCEPTED])
    (tmp_path / "made.jsonl").write_bytes(data)
    systems = services.training.systems(model, SPLIT)
    assert systems["after"].retrieval.late_model == "mine"
    assert {one.retrieval.embedding_precision for one in systems.values()} == {"exact"}
    assert systems["before"].retrieval.late_model == plan(LATE_INTERACTION).base
    made = read_gold(tmp_path / "made.jsonl")
    with pytest.raises(UsageError, match="mine is trained on"):
        list(services.evaluation.evaluate_retrieval(LOCAL_OWNER, made, systems))
    # made of the same passages, never trained with: known by its id
    known = [json.loads(line) for line in data.splitlines()]
    other = services.synthesis.decide(LOCAL_OWNER, known[0]["id"], Outcome.REJECTED, "What else is told there?")
    (tmp_path / "other.jsonl").write_text(json.dumps({**known[0], "question": other.text}), encoding="utf-8")
    with pytest.raises(UsageError, match="mine is trained on"):
        list(services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(tmp_path / "other.jsonl"), systems))
    # and by its words, as they were before a person changed them
    (tmp_path / "made_anew.jsonl").write_text(json.dumps(_without(known[0], "id", "made_by")), encoding="utf-8")
    with pytest.raises(UsageError, match="mine is trained on"):
        list(services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(tmp_path / "made_anew.jsonl"), systems))
    asked = services.evaluation.gold(LOCAL_OWNER, made, SPLIT).items
    with pytest.raises(UsageError, match="next is trained on"):
        list(services.training.train(LOCAL_OWNER, plan(name="next"), SPLIT, asked))
    people = tmp_path / "people.jsonl"
    people.write_text("\n".join(json.dumps(one) for one in QUESTIONS.values()), encoding="utf-8")
    found = list(services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(people), systems))[-1]
    assert isinstance(found, Evaluation)
    assert [one.name for one in found.systems] == ["before", "after"]


def _without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


def test_exported_questions_do_not_measure_it_after_they_were_deleted(services, plan, tmp_path):
    """Made after training, and no longer in the workspace: the files themselves say that they were made."""
    for one in services.synthesis.list(LOCAL_OWNER, [Outcome.ACCEPTED])[::2]:
        services.synthesis.decide(LOCAL_OWNER, one.id, Outcome.REJECTED)
    model = train(services, plan(LATE_INTERACTION, name="mine"))[-1]
    systems = services.training.systems(model, SPLIT)
    trained = set(model.record.trained_on.questions)
    made = [one for one in services.synthesis.list(LOCAL_OWNER) if words_hash(one.text) not in trained]
    for number, one in enumerate(made):
        services.synthesis.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED, f"What else is told there, number {number}?")
    lines, _ = services.synthesis.questions_file(LOCAL_OWNER, [Outcome.ACCEPTED])
    beir, _ = services.synthesis.beir_files(LOCAL_OWNER, [Outcome.ACCEPTED], SPLIT)
    services.synthesis.remove(LOCAL_OWNER, list(Outcome))
    rows = [row for row in map(json.loads, lines.splitlines()) if row["question"].startswith("What else")]
    assert rows
    unknown = "\n".join(json.dumps(_without(row, "id")) for row in rows)
    (tmp_path / "made.jsonl").write_text(unknown, encoding="utf-8")
    for name, data in beir.items():
        (tmp_path / "beir" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "beir" / name).write_bytes(data)
    for path in (tmp_path / "made.jsonl", tmp_path / "beir"):
        with pytest.raises(UsageError, match="mine is trained on"):
            list(services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(path), systems))


def test_runs_of_answers_do_not_measure_it_with_them_either(services, plan, tmp_path):
    old = {"old": SPLIT}
    data, _ = services.synthesis.questions_file(LOCAL_OWNER, [Outcome.ACCEPTED])
    rows = [{**row, "answers": [row["quote"][:40]]} for row in map(json.loads, data.splitlines())]
    file = tmp_path / "made.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = train(services, plan(LATE_INTERACTION, name="mine"))[-1]
    systems = {"mine": services.training.systems(model, SPLIT)["after"]}
    with pytest.raises(UsageError, match="mine is trained on"):
        services.runs.begin(LOCAL_OWNER, RunRequest("answers", file, systems))
    assert services.runs.list(LOCAL_OWNER) == ()
    assert services.runs.begin(LOCAL_OWNER, RunRequest("answers", file, old)).total == len(rows)
    people = tmp_path / "people.jsonl"
    people.write_text("\n".join(json.dumps(one) for one in QUESTIONS.values()), encoding="utf-8")
    assert services.runs.begin(LOCAL_OWNER, RunRequest("answers", people, systems)).total == len(QUESTIONS)


def test_a_run_that_was_begun_before_the_model_was_trained_is_refused_later(services, plan, tmp_path):
    data, _ = services.synthesis.questions_file(LOCAL_OWNER, [Outcome.ACCEPTED])
    rows = [{**row, "answers": [row["quote"][:40]]} for row in map(json.loads, data.splitlines())]
    file = tmp_path / "made.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    later = SPLIT.changed("retrieval", retriever="late_interaction", late_model="mine", first_stage="none")
    begun = services.runs.begin(LOCAL_OWNER, RunRequest("answers", file, {"mine": later}))
    train(services, plan(LATE_INTERACTION, name="mine"))
    with pytest.raises(UsageError, match="mine is trained on"):
        list(services.runs.go(LOCAL_OWNER, begun.id))


def test_without_accepted_questions_it_is_said_what_to_do(open_services, files, plan):
    services = open_services(SPLIT, files=files)
    with pytest.raises(PdfQAError, match="no accepted question to train with\\. Make some"):
        train(services, plan())
    list(services.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=0), SPLIT))
    with pytest.raises(PdfQAError, match="wait to be looked at"):
        train(services, plan())
    assert isinstance(train(services, plan(unreviewed=True), only_prepare=True)[-1], Prepared)


def test_three_passages_are_too_few(services, plan):
    wide = SPLIT.changed("chunking", size=1000, step=1000)
    with pytest.raises(PdfQAError, match=r"passages, \d of them to train on"):
        list(services.training.train(LOCAL_OWNER, plan(), wide))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "../away"}, "cannot be called"),
        ({"margin": 2}, "margin 2"),
        ({"held_out": 1}, "share held out 1"),
        ({"base": "/nowhere/at/all"}, "no embedding model at"),
    ],
)
def test_what_cannot_be_done_is_told(services, plan, changes, words):
    with pytest.raises(PdfQAError, match=words):
        train(services, plan(**changes))
