"""Making questions and training in the background: one at a time, stopped, gone on with by another process, refused."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.models import ModelFiles
from pdfqa_core.services import LOCAL_OWNER, Outcome, Services
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import TrainingPlan, Work
from pdfqa_core.synthesis import RULES
from pdfqa_core.training import BI_ENCODER, TrainingSettings
from tests.retrieval.tiny_models import sentence_transformer
from tests.services.helpers import BM25, until
from tests.serving_fakes import FakeModels

pytest.importorskip("sentence_transformers")
SPLIT = BM25.changed("chunking", size=60, step=30)
MAKING = SynthesisPlan(kind=RULES, per_document=0, per_passage=2)
SHORT = TrainingSettings(
    steps=3, batch=4, learning_rate=1e-3, evaluate_every=3, patience=0, precision="fp32"
)  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return str(sentence_transformer(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def prepared(read_workspace, tmp_path_factory):
    """A workspace with accepted questions that were made in the background."""
    folder = shutil.copytree(read_workspace, tmp_path_factory.mktemp("prepared") / "workspace")
    with Services.open(folder, SPLIT, FakeModels()) as found:
        found.training.jobs.make(LOCAL_OWNER, MAKING, SPLIT)
        job = ended(found)
        assert (job.work, job.error) == (Work.MAKING, "")
        assert dict(job.made) == dict(job.result.outcomes)
        for one in found.training.synthesis.kept.list(LOCAL_OWNER, [Outcome.NEW]):
            found.training.synthesis.kept.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED)
    return folder


@pytest.fixture
def open_prepared(prepared, open_services, tmp_path):
    """Open services on a copy of it."""
    shutil.copytree(prepared, tmp_path / "workspace")
    files = ModelFiles(tmp_path, tmp_path / "models")
    return lambda: open_services(SPLIT, files=files)


@pytest.fixture
def services(open_prepared):
    return open_prepared()


@pytest.fixture
def plan(base):
    return TrainingPlan(BI_ENCODER, "mine", base, SHORT, device="cpu")


def of(services):
    job = services.training.jobs.of(LOCAL_OWNER)
    assert job is not None
    return job


def ended(services):
    """Wait for the end of the work, and return what came of it."""
    until(lambda: not of(services).running)
    return of(services)


def test_what_training_takes_is_told_and_a_model_comes_of_it(services, plan):
    services.training.jobs.estimate(LOCAL_OWNER, plan, SPLIT)
    job = ended(services)
    assert (job.work, job.error, job.losses) == (Work.ESTIMATING, "", ())
    assert job.prepared.estimate.seconds > 0
    services.training.jobs.train(LOCAL_OWNER, plan, SPLIT)
    with pytest.raises(PdfQAError, match="under way already"):
        services.training.jobs.make(LOCAL_OWNER, MAKING, SPLIT)
    assert services.training.jobs.of("somebody else") is None
    services.training.jobs.stop("somebody else")
    job = ended(services)
    assert (job.model, job.error, len(job.losses), len(job.rounds)) == ("mine", "", 6, 2)
    assert services.training.unfinished(LOCAL_OWNER) == ()
    services.training.jobs.train(LOCAL_OWNER, plan, SPLIT)
    assert "a model called mine already" in ended(services).error


def test_a_stopped_training_is_gone_on_with_after_a_new_start_as_if_it_had_not_been(services, plan, open_prepared):
    long = replace(plan, name="long", settings=replace(SHORT, steps=3000, evaluate_every=3000))
    services.training.jobs.train(LOCAL_OWNER, long, SPLIT)
    until(lambda: len(of(services).losses) > 2)
    services.close()  # as the end of the program does
    assert of(services).stopped
    again = open_prepared()
    (found,) = again.training.unfinished(LOCAL_OWNER)
    assert (found.plan.name, found.plan.settings) == ("long", long.settings)
    assert found.state.losses[:1] == of(services).losses[:1]
    assert found.settings.fingerprint() == SPLIT.fingerprint()
    assert again.training.unfinished("somebody else") == ()
    with pytest.raises(UsageError, match="no stopped training"):
        again.training.jobs.resume("somebody else", "long")
    again.training.jobs.resume(LOCAL_OWNER, "long")
    before = len(found.state.losses)
    until(lambda: len(of(again).losses) > before)
    assert of(again).losses[:before] == found.state.losses
    assert len({place[:2] for place in of(again).losses}) == len(of(again).losses)
    again.training.jobs.stop(LOCAL_OWNER)
    assert ended(again).stopped
    again.training.discard(LOCAL_OWNER, "long")
    assert again.training.unfinished(LOCAL_OWNER) == ()
    with pytest.raises(UsageError, match="no stopped training"):
        again.training.discard(LOCAL_OWNER, "long")


def test_visitors_of_a_demo_neither_make_questions_nor_train(open_services, plan):
    services = open_services(SPLIT.changed("server", demo=True))
    with pytest.raises(PdfQAError, match="Visitors of a demo"):
        services.training.jobs.make(LOCAL_OWNER, MAKING, SPLIT)
    with pytest.raises(PdfQAError, match="Visitors of a demo"):
        services.training.jobs.train(LOCAL_OWNER, plan, SPLIT)
    assert services.training.jobs.of(LOCAL_OWNER) is None


def test_a_plan_that_cannot_be_carried_out_is_refused_at_once(services, plan):
    with pytest.raises(UsageError, match="k is 0"):
        services.training.jobs.train(LOCAL_OWNER, replace(plan, k=0), SPLIT)
    with pytest.raises(UsageError, match="cannot be made"):
        services.training.jobs.make(LOCAL_OWNER, replace(MAKING, per_passage=0), SPLIT)
