"""Making questions and training in the background: one at a time, stopped, gone on with by another process, refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import safetensors.torch

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.models import Changes, ModelFiles
from pdfqa_core.services import LOCAL_OWNER, Outcome
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.train_jobs import Work
from pdfqa_core.services.training import TrainingPlan
from pdfqa_core.synthesis import RULES
from pdfqa_core.training import BI_ENCODER, TrainingSettings
from tests.retrieval.tiny_models import sentence_transformer
from tests.services.helpers import BM25
from tests.ui.serving import until

pytest.importorskip("sentence_transformers")
SPLIT = BM25.changed("chunking", size=60, step=30)
THREE = BM25.changed("chunking", size=45, step=45)  # makes three passages of short_pdf
MAKING = SynthesisPlan(kind=RULES, per_document=0, per_passage=2)
SHORT = TrainingSettings(
    steps=3, batch=4, learning_rate=1e-3, evaluate_every=3, patience=0, precision="fp32"
)  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return str(sentence_transformer(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def files(tmp_path):
    return ModelFiles(tmp_path, tmp_path / "models")


@pytest.fixture
def plan(base):
    return TrainingPlan(BI_ENCODER, "mine", base, SHORT, device="cpu")


def of(services):
    job = services.train_jobs.of(LOCAL_OWNER)
    assert job is not None
    return job


def ended(services):
    """Wait for the end of the work, and return what came of it."""
    until(lambda: not of(services).running)
    return of(services)


@pytest.fixture
def services(open_services, files):
    """Services with accepted questions that were made in the background."""
    found = open_services(SPLIT, files=files)
    found.train_jobs.make(LOCAL_OWNER, MAKING, SPLIT)
    job = ended(found)
    assert (job.work, job.error) == (Work.MAKING, "")
    assert dict(job.made) == dict(job.result.outcomes)
    for one in found.synthesis.list(LOCAL_OWNER, [Outcome.NEW]):
        found.synthesis.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
    return found


def test_what_training_takes_is_told_and_a_model_comes_of_it(services, plan):
    services.train_jobs.estimate(LOCAL_OWNER, plan, SPLIT)
    job = ended(services)
    assert (job.work, job.error, job.losses) == (Work.ESTIMATING, "", ())
    assert job.prepared.estimate.seconds > 0
    services.train_jobs.train(LOCAL_OWNER, plan, SPLIT)
    with pytest.raises(PdfQAError, match="under way already"):
        services.train_jobs.make(LOCAL_OWNER, MAKING, SPLIT)
    assert services.train_jobs.of("somebody else") is None
    services.train_jobs.stop("somebody else")
    job = ended(services)
    assert (job.model, job.error, len(job.losses), len(job.rounds)) == ("mine", "", 6, 2)
    assert services.training.unfinished(LOCAL_OWNER) == ()
    services.train_jobs.train(LOCAL_OWNER, plan, SPLIT)
    assert "a model called mine already" in ended(services).error


def test_a_document_of_three_passages_is_refused_and_leaves_nothing_behind(open_services, files, plan, short_pdf):
    services = open_services(THREE, files=files, empty=True)
    list(services.documents.ingest(LOCAL_OWNER, [short_pdf]))
    assert len(services.indexes.passages(LOCAL_OWNER, THREE)) == 3
    services.train_jobs.make(LOCAL_OWNER, MAKING, THREE)
    assert ended(services).error == ""
    made = services.synthesis.list(LOCAL_OWNER, [Outcome.NEW])
    assert len(made) >= 3
    for one in made:
        services.synthesis.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
    for begin in (services.train_jobs.estimate, services.train_jobs.train):
        begin(LOCAL_OWNER, plan, THREE)
        job = ended(services)
        assert "There are 3 passages, 1 of them to train on, which is too few: at least 8 are needed" in job.error
        assert (job.hint, job.model, job.prepared) == ("Add more documents, or longer ones.", "", None)
    assert services.training.unfinished(LOCAL_OWNER) == services.training.list() == ()
    assert not (services.workspace / "training").exists()
    assert not files.encoders.folder.exists()


def test_a_stopped_training_is_gone_on_with_after_a_new_start_as_if_it_had_not_been(
    services, plan, open_services, files
):
    services.train_jobs.train(LOCAL_OWNER, plan, SPLIT)
    whole = ended(services).losses
    long = replace(plan, name="long", settings=replace(SHORT, steps=3000, evaluate_every=3000))
    services.train_jobs.train(LOCAL_OWNER, long, SPLIT)
    until(lambda: len(of(services).losses) > 2)
    services.close()  # as the end of the program does
    assert of(services).stopped
    again = open_services(SPLIT, files=files)
    (found,) = again.training.unfinished(LOCAL_OWNER)
    assert (found.plan.name, found.plan.settings) == ("long", long.settings)
    assert found.state.losses[:1] == of(services).losses[:1]
    assert found.settings.fingerprint() == SPLIT.fingerprint()
    assert again.training.unfinished("somebody else") == ()
    with pytest.raises(UsageError, match="no stopped training"):
        again.train_jobs.resume("somebody else", "long")
    again.train_jobs.resume(LOCAL_OWNER, "long")
    before = len(found.state.losses)
    until(lambda: len(of(again).losses) > before)
    assert of(again).losses[:before] == found.state.losses
    assert len({place[:2] for place in of(again).losses}) == len(of(again).losses)
    again.train_jobs.stop(LOCAL_OWNER)
    assert ended(again).stopped
    assert len(whole) == 6
    again.training.discard(LOCAL_OWNER, "long")
    assert again.training.unfinished(LOCAL_OWNER) == ()
    with pytest.raises(UsageError, match="no stopped training"):
        again.training.discard(LOCAL_OWNER, "long")


def test_a_damaged_checkpoint_can_be_deleted(services, plan):
    folder = services.workspace / "training" / "mine"
    services.train_jobs.train(LOCAL_OWNER, replace(plan, settings=replace(SHORT, steps=3000)), SPLIT)
    until(lambda: len(of(services).losses) > 1)
    services.train_jobs.stop(LOCAL_OWNER)
    ended(services)
    (folder / "checkpoint.safetensors").write_bytes(b"damaged")
    (found,) = services.training.unfinished(LOCAL_OWNER)
    assert found.state is None
    services.train_jobs.train(LOCAL_OWNER, replace(plan, settings=replace(SHORT, steps=3000)), SPLIT)
    assert "cannot be read" in ended(services).error
    services.training.discard(LOCAL_OWNER, "mine")
    assert not folder.exists()


def test_a_full_disk_keeps_the_last_good_checkpoint(services, plan, monkeypatch):
    written = []

    def save(tensors, path, metadata):
        if written:
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        written.append(path)
        real(tensors, path, metadata)

    real = safetensors.torch.save_file
    monkeypatch.setattr(safetensors.torch, "save_file", save)
    services.train_jobs.train(LOCAL_OWNER, plan, SPLIT)
    job = ended(services)
    assert "The disk is full" in job.error
    assert "last good checkpoint is kept" in job.hint
    folder = services.workspace / "training" / "mine"
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint.safetensors", "plan.json"]
    monkeypatch.setattr(safetensors.torch, "save_file", real)
    services.train_jobs.resume(LOCAL_OWNER, "mine")
    assert ended(services).model == "mine"


def test_encoders_forget_a_model_that_is_removed_or_comes_anew(services, plan):
    encoders = services.models.encoders
    old = encoders.encoder("mine")
    services.train_jobs.train(LOCAL_OWNER, plan, SPLIT)
    assert ended(services).model == "mine"
    new = encoders.encoder("mine")
    assert new is not old
    changes = Changes(services.models.language, services.models.files, encoders)
    for section in ({"embedding_model": "mine"}, {"late_model": "mine"}):
        with pytest.raises(PdfQAError, match="is in use"):
            changes.remove_encoder("mine", SPLIT.changed("retrieval", **section).retrieval)
    changes.remove_encoder("mine", SPLIT.retrieval)
    assert encoders.encoder("mine") is not new
    assert services.training.list() == ()


def test_visitors_of_a_demo_neither_make_questions_nor_train(open_services, files, plan):
    services = open_services(SPLIT.changed("server", demo=True), files=files)
    with pytest.raises(PdfQAError, match="Visitors of a demo"):
        services.train_jobs.make(LOCAL_OWNER, MAKING, SPLIT)
    with pytest.raises(PdfQAError, match="Visitors of a demo"):
        services.train_jobs.train(LOCAL_OWNER, plan, SPLIT)
    assert services.train_jobs.of(LOCAL_OWNER) is None


def test_a_plan_that_cannot_be_carried_out_is_refused_at_once(services, plan):
    with pytest.raises(UsageError, match="needs a teacher"):
        services.train_jobs.train(LOCAL_OWNER, replace(plan, settings=replace(SHORT, distil=0.5)), SPLIT)
    with pytest.raises(UsageError, match="cannot be made"):
        services.train_jobs.make(LOCAL_OWNER, replace(MAKING, per_passage=0), SPLIT)


def test_a_decision_is_taken_back_with_reason_and_words(services):
    (first, *_) = services.synthesis.list(LOCAL_OWNER, [Outcome.ACCEPTED])
    dropped = services.synthesis.list(LOCAL_OWNER, [Outcome.DROPPED])[0]
    for before in (first, dropped):
        after = services.synthesis.decide(LOCAL_OWNER, before.id, Outcome.REJECTED, "Something else entirely?")
        assert (after.text, after.reason) == ("Something else entirely?", "")
        services.synthesis.restore(LOCAL_OWNER, before)
        assert before in services.synthesis.list(LOCAL_OWNER, [before.outcome])
    with pytest.raises(UsageError, match="no such question"):
        services.synthesis.restore("somebody else", first)
    drawn, done = services.synthesis.drawn(LOCAL_OWNER, MAKING, SPLIT)
    assert 0 < done <= drawn
