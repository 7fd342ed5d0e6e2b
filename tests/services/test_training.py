"""Training over a real workspace with tiny models: what it needs, what comes of it, stop and resume, leakage."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from pdfqa_core.errors import ModelError, PdfQAError, StorageError, UsageError
from pdfqa_core.exports.report import methods_text
from pdfqa_core.models import Encoders, ModelFiles
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.retrieval import onnx_graph
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.evaluation import RunRequest
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import Prepared, TrainingPlan
from pdfqa_core.storage import Outcome
from pdfqa_core.synthesis import RULES
from pdfqa_core.training import (
    BI_ENCODER,
    DPR,
    LATE_INTERACTION,
    NOTHING_HELD_OUT,
    Step,
    TrainingSettings,
    has_bf16,
)
from tests.retrieval.tiny_models import multi_vector_encoder, sentence_transformer
from tests.services.helpers import BM25
from tests.serving_fakes import QUESTIONS, FakeModels

pytest.importorskip("sentence_transformers")
device = pytest.importorskip("torch").device
SHORT = TrainingSettings(steps=3, batch=4, learning_rate=1e-3, evaluate_every=3, patience=0)
SPLIT = BM25.changed("chunking", size=60, step=30)


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    root = tmp_path_factory.mktemp("tiny")
    single, many = str(sentence_transformer(root)), str(multi_vector_encoder(root))
    return {BI_ENCODER: single, DPR: single, LATE_INTERACTION: many}


@pytest.fixture(scope="module")
def prepared(read_workspace, tmp_path_factory, bases):
    """A folder with a workspace whose questions by rules are all accepted, and a model called "learnt" of these."""
    folder = tmp_path_factory.mktemp("prepared")
    shutil.copytree(read_workspace, folder / "workspace")
    with opened_in(folder) as found:
        list(
            found.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=0, per_passage=2), SPLIT)
        )
        for one in found.training.synthesis.kept.list(LOCAL_OWNER, [Outcome.NEW]):
            found.training.synthesis.kept.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
        late = TrainingPlan(LATE_INTERACTION, "learnt", bases[LATE_INTERACTION], SHORT, device="cpu")
        train(found, late)
    return folder


def opened_in(folder):
    return Services.open(folder / "workspace", SPLIT, FakeModels(files=ModelFiles(folder, folder / "models")))


@pytest.fixture
def learnt(prepared, tmp_path):
    """Services with accepted questions and a model that was trained with them."""
    shutil.copytree(prepared, tmp_path / "learnt")
    with opened_in(tmp_path / "learnt") as found:
        yield found


@pytest.fixture
def services(learnt):
    """Services with accepted questions and no model."""
    learnt.models.files.encoders.remove("learnt")
    return learnt


@pytest.fixture
def folder(services):
    """The folder that trained models are kept in."""
    return services.models.files.encoders.folder


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
def test_a_model_comes_of_it_that_retrieves(services, plan, folder, kind, monkeypatch):
    monkeypatch.setattr(onnx_graph, "made_with", lambda: "")  # torch computes: graphs have tests of their own
    assert isinstance(train(services, plan(kind, name="mine"), only_prepare=True)[-1], Prepared)
    assert services.models.files.encoders.trained() == ()
    events = train(services, plan(kind, name="mine"))
    prepared = next(event for event in events if isinstance(event, Prepared))
    assert prepared.estimate.seconds > 0 < prepared.estimate.memory
    assert "about one document" in prepared.notes[0]
    model = events[-1]
    assert services.models.files.encoders.trained() == (model,)
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
    encoders = services.models.files.encoders
    real = Encoders.with_graphs(folder / "graphs", encoders.folders, encoders.find_late)
    if kind == BI_ENCODER:
        assert real.encoder("mine").encode(["the plan"]).shape == (1, 32)
        with pytest.raises(ModelError, match="Name it as embedding_model"):
            real.token_encoder("mine")
    else:
        assert real.token_encoder("mine").encode_tokens(["the plan"])[0].shape == (4, 16)
        with pytest.raises(ModelError, match="Name it as late_model"):
            real.encoder("mine")
    assert encoders.remove("mine")
    assert services.models.files.encoders.trained() == ()


def test_a_pair_learns_from_all_questions_and_is_found_by_its_name(services, plan, folder, monkeypatch):
    monkeypatch.setattr(onnx_graph, "made_with", lambda: "")
    events = train(services, plan(DPR, name="pair", held_out=0))
    prepared = next(event for event in events if isinstance(event, Prepared))
    assert (prepared.held_out, prepared.notes[0]) == (0, NOTHING_HELD_OUT)
    assert prepared.questions == len(services.training.synthesis.kept.list(LOCAL_OWNER, [Outcome.ACCEPTED]))
    model = events[-1]
    record = model.record
    assert (record.settings.keep, record.settings.similarity) == ("last", "dot")
    assert (record.compared, record.helped, record.verdict) == ({}, None, NOTHING_HELD_OUT)
    assert (folder / "pair" / "README.md").read_text("utf-8").count(NOTHING_HELD_OUT) == 1
    assert services.training.systems(model, SPLIT)["after"].retrieval.embedding_model == "pair"
    encoders = services.models.files.encoders
    encoder = Encoders.with_graphs(folder / "graphs", encoders.folders, encoders.find_late).encoder("pair")
    question, passage = encoder.encode(["the plan"], question=True), encoder.encode(["the plan"])
    assert not np.allclose(question, passage, atol=1e-4)
    assert abs(np.linalg.norm(passage) - 1) > 0.01
    with pytest.raises(UsageError, match="pair is a pair of encoders"):
        train(services, plan(base="pair"))
    assert isinstance(train(services, plan(DPR, base="pair"), only_prepare=True)[-1], Prepared)


def test_a_model_that_cannot_be_written_is_not_lost(services, plan, folder):
    shutil.rmtree(folder)
    folder.write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageError, match="What was learnt is kept"):
        train(services, plan())
    assert (services.workspace / "training" / "my-bi-encoder" / "checkpoint.safetensors").is_file()
    folder.unlink()
    events = train(services, plan())
    assert losses(events) == []
    assert events[-1].name == "my-bi-encoder"
    assert [path.name for path in folder.iterdir()] == ["my-bi-encoder"]


def _without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


def test_without_accepted_questions_it_is_said_what_to_do(open_services, plan):
    services = open_services(SPLIT)
    with pytest.raises(PdfQAError, match="no accepted question to train with\\. Make some"):
        train(services, plan())
    list(services.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=0), SPLIT))
    with pytest.raises(PdfQAError, match="wait to be looked at"):
        train(services, plan())


def test_what_cannot_be_done_is_told(services, plan):
    for changes, words in (
        ({"name": "../away"}, "cannot be called"), ({"margin": 2}, "margin 2"), ({"held_out": 1}, "share held out 1"),
        ({"kind": LATE_INTERACTION, "settings": replace(SHORT, similarity="dot")}, "compares tokens by cosine"),
        ({"base": "/nowhere/at/all"}, "no embedding model at"),
    ):  # fmt: skip
        with pytest.raises(PdfQAError, match=words):
            train(services, plan(**changes))


def questions_in(services, tmp_path):
    """Write rows of the questions that were trained on, and of those of people; return the rows and both files."""
    data, _ = services.training.synthesis.questions_file(LOCAL_OWNER, [Outcome.ACCEPTED])
    rows = [{**row, "answers": [row["quote"][:40]]} for row in map(json.loads, data.splitlines())]
    made, people = tmp_path / "made.jsonl", tmp_path / "people.jsonl"
    made.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    people.write_text("\n".join(map(json.dumps, QUESTIONS.values())), encoding="utf-8")
    return rows, made, people


def test_what_it_was_trained_on_does_not_measure_it(learnt, plan, tmp_path):
    (model,) = learnt.models.files.encoders.trained()
    systems = learnt.training.systems(model, SPLIT)
    assert systems["after"].retrieval.late_model == "learnt"
    assert {one.retrieval.embedding_precision for one in systems.values()} == {"exact"}
    assert systems["before"].retrieval.late_model == plan(LATE_INTERACTION).base
    rows, made, people = questions_in(learnt, tmp_path)
    first, other = rows[0], {"question": "What else is told there?"}
    by_id, by_words = first | other, _without(first, "id", "made_by")
    by_maker = _without(first, "id") | other  # never trained with: the file says that it was made
    for number, row in enumerate((first, by_id, by_words, by_maker)):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(json.dumps(row), encoding="utf-8")
        with pytest.raises(UsageError, match="learnt is trained on"):
            list(learnt.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(file), systems))
    *_, found = learnt.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(made), systems, trained_on=True)
    assert any("after: " in note and "its scores are too good" in note for note in found.notes)
    asked = learnt.evaluation.gold(LOCAL_OWNER, read_gold(made), SPLIT).items
    with pytest.raises(UsageError, match="next is trained on"):
        list(learnt.training.train(LOCAL_OWNER, plan(name="next"), SPLIT, asked))
    found = list(learnt.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(people), systems))[-1]
    assert [one.name for one in found.systems] == ["before", "after"]


def test_runs_of_answers_do_not_measure_it_with_them_either(learnt, tmp_path):
    rows, made, people = questions_in(learnt, tmp_path)
    systems = {"learnt": learnt.training.systems(learnt.models.files.encoders.trained()[0], SPLIT)["after"]}
    with pytest.raises(UsageError, match="learnt is trained on"):
        learnt.evaluation.begin(LOCAL_OWNER, RunRequest("answers", made, systems))
    assert learnt.evaluation.list_runs(LOCAL_OWNER) == ()
    assert learnt.evaluation.begin(LOCAL_OWNER, RunRequest("answers", made, {"old": SPLIT})).total == len(rows)
    assert learnt.evaluation.begin(LOCAL_OWNER, RunRequest("answers", people, systems)).total == len(QUESTIONS)
    place = learnt.models.files.encoders.folder / "learnt"
    aside = place.rename(tmp_path / "aside")
    begun = learnt.evaluation.begin(LOCAL_OWNER, RunRequest("answers", made, systems))  # before there was such a model
    aside.rename(place)
    with pytest.raises(UsageError, match="learnt is trained on"):
        list(learnt.evaluation.go(LOCAL_OWNER, begun.id))
    quoted = {"learnt": systems["learnt"].changed("reading", reader="extractive")}
    options = {"bertscore": "no", "trained_on": "yes"}
    begun = learnt.evaluation.begin(LOCAL_OWNER, RunRequest("answers", made, quoted, limit=2, options=options))
    *_, found = learnt.evaluation.go(LOCAL_OWNER, begun.id)
    assert "questions were made of passages that learnt is trained on" in found.notes[0]
    assert "its scores are too good" in found.notes[0]
    assert found.notes[0] in methods_text(learnt.evaluation.runs.get(LOCAL_OWNER, begun.id))
