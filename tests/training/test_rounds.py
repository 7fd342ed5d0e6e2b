"""The loop of the seed with tiny models: rounds, filter, stop and resume, early stopping, a full disk, too little."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import pytest

from pdfqa_core.errors import PdfQAError, StoppedError, StorageError, UsageError
from pdfqa_core.retrieval import index_text
from pdfqa_core.training import (
    BiEncoder,
    Checkpoint,
    EncoderPair,
    LateInteraction,
    RoundRecord,
    Scored,
    State,
    Step,
    TrainingData,
    TrainingSettings,
    compared,
    train_in_rounds,
)
from pdfqa_core.types import Span
from tests.retrieval.tiny_models import multi_vector_encoder, sentence_transformer
from tests.training.corpus import corpus, examples, pairs

pytest.importorskip("sentence_transformers")
SHORT = TrainingSettings(
    steps=6, batch=4, learning_rate=1e-3, chunk=3, evaluate_every=3, patience=0, k=3, seed=2
)  # fmt: skip
DATA = TrainingData(tuple(examples("a")), tuple(corpus("a")), tuple(pairs("b")), tuple(corpus("b")), k=3)
ALL = replace(DATA, held_out=(), held_out_passages=())


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("tiny")
    bi, late = sentence_transformer(root / "bi"), multi_vector_encoder(root / "late")
    return {BiEncoder: bi, EncoderPair: bi, LateInteraction: late}


@pytest.fixture
def run(folders, tmp_path):
    """Train a fresh tiny model and return all events; `act` may look at each."""

    def go(kind=BiEncoder, folder="run", settings=SHORT, data=DATA, act=lambda event, stop: None, name="one"):
        stop, events = threading.Event(), []
        trainee = kind.load(str(folders[kind]))
        for event in train_in_rounds(trainee, data, settings, Checkpoint(tmp_path / folder), name, index_text, stop):
            events.append(event)
            act(event, stop)
        return events

    return go


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_two_rounds_are_trained_filtered_and_recorded(run):
    events = run()
    steps, records = of(events, Step), of(events, RoundRecord)
    assert [(one.round, one.step) for one in steps] == [(number, step) for number in (1, 2) for step in range(1, 7)]
    assert [(one.round, one.questions, one.steps) for one in records] == [(1, 8, 6), (2, 8, 6)]
    assert [(one.kept, one.found_by_old) for one in records] == [(8, 8), (8, 8)]
    assert records[0].loss == steps[5].loss
    assert [(one.round, one.step) for one in of(events, Scored)] == [(1, 0), (1, 3), (1, 6), (2, 3), (2, 6)]
    state = events[-1]
    assert isinstance(state, State)
    assert state.losses == tuple((one.round, one.step, one.loss) for one in steps)
    assert len(state.before) == len(state.after) == 8
    assert state.best.key == max(one.key for one in state.scores)


def test_a_question_that_neither_model_finds_is_dropped(run):
    lost = tuple(replace(one, found=False) for one in DATA.examples)
    record = of(run(data=replace(DATA, examples=lost)), RoundRecord)[0]
    assert record.found_by_old == 0
    assert record.kept == record.found_by_new < record.questions


@pytest.mark.parametrize(
    ("kind", "after", "data"), [(BiEncoder, 4, DATA), (LateInteraction, 1, DATA), (EncoderPair, 4, ALL)]
)
def test_stop_and_resume_give_the_same_curve(run, kind, after, data):
    whole = run(kind, "whole", data=data)[-1]

    def interrupt(event, stop):
        if isinstance(event, Step) and (event.round, event.step) in ((1, after), (2, after)):
            stop.set()

    for _ in range(2):
        with pytest.raises(StoppedError, match="same command goes on"):
            run(kind, "parts", act=interrupt, data=data)
    resumed = run(kind, "parts", data=data)
    assert next((one.round, one.step) for one in of(resumed, Step)) == (2, after + 1)
    state = resumed[-1]
    assert state.losses == whole.losses
    assert (state.scores, state.best, state.records, state.after) == (
        whole.scores, whole.best, whole.records, whole.after
    )  # fmt: skip


@pytest.mark.parametrize(("keep", "steps", "kept"), [("best", 2, (1, 0)), ("last", 4, (2, 4))])
def test_a_round_ends_where_nothing_is_gained_unless_the_last_weights_are_kept(run, keep, steps, kept):
    settings = replace(SHORT, steps=4, evaluate_every=1, patience=2, learning_rate=1e-9, keep=keep)
    events = run(settings=settings)
    assert [record.steps for record in of(events, RoundRecord)] == [steps, steps]
    assert (events[-1].best.round, events[-1].best.step) == kept


def test_with_nothing_held_out_nothing_is_scored_and_the_last_weights_are_kept(folders, tmp_path):
    trainee, found = BiEncoder.load(str(folders[BiEncoder])), []
    settings = replace(SHORT, evaluate_every=1, patience=1)
    for event in train_in_rounds(
        trainee, ALL, settings, Checkpoint(tmp_path), "all", index_text, threading.Event()
    ):  # fmt: skip
        found.append(event)
        if isinstance(event, Step) and (event.round, event.step) == (2, settings.steps):
            last = {name: one.clone() for name, one in trainee.model.state_dict().items()}
    state = found[-1]
    assert (of(found, Scored), state.scores, state.best, state.before, state.after) == ([], (), None, (), ())
    assert [(one.steps, one.best) for one in of(found, RoundRecord)] == [(6, None), (6, None)]
    assert all(one.equal(last[name]) for name, one in trainee.model.state_dict().items())


@pytest.mark.linux
def test_a_full_disk_leaves_the_last_good_checkpoint(run, tmp_path):
    """Files may not grow beyond a limit from the second checkpoint on, as on a disk that is full."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill(event, stop):
        if isinstance(event, Scored) and (event.round, event.step) == (1, 6):
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))

    try:
        with pytest.raises(StorageError, match=r"cannot be written.* last good checkpoint is kept"):
            run(act=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [one.name for one in (tmp_path / "run").iterdir()] == ["checkpoint.safetensors"]
    assert Checkpoint(tmp_path / "run").read_state().step == 3
    assert run()[-1].losses == run(folder="whole")[-1].losses


def test_another_run_is_not_gone_on_from(run, tmp_path):
    run()
    with pytest.raises(UsageError, match="begun with other questions"):
        run(name="two")
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(b"no tensors")
    with pytest.raises(UsageError, match="cannot be read"):
        run()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (replace(DATA, passages=DATA.passages[:3]), "passages, 3 of them to train on"),
        (replace(DATA, examples=DATA.examples[:2]), "2 questions to train on"),
        (replace(DATA, held_out=DATA.held_out[:1]), "1 to hold out"),
    ],
)
def test_too_little_is_told(run, data, words):
    with pytest.raises(PdfQAError, match=words):
        run(data=data)


@pytest.mark.parametrize("change", [{"batch": 1}, {"learning_rate": 0}])
def test_settings_that_make_no_sense_are_refused(run, change):
    with pytest.raises(UsageError):
        run(settings=replace(SHORT, **change))


def test_a_loss_that_is_no_number_is_told(run):
    with pytest.raises(PdfQAError, match="no number"):
        run(settings=replace(SHORT, scale=1e39))


def test_before_and_after_are_compared_on_the_same_questions():
    found = compared([0, 3, 2, 1, 0, 9], [1, 1, 2, 1, 0, 2], k=1)
    assert found["HR@1"].before.mean == pytest.approx(1 / 6)
    assert found["HR@1"].after.mean == pytest.approx(3 / 6)
    assert found["HR@1"].difference.mean == pytest.approx(2 / 6)
    assert found["MRR"].difference.mean == pytest.approx((1 + 2 / 3 + 0 + 0 + 0 + (1 / 2 - 1 / 9)) / 6)
    assert found["MRR"].difference.low < found["MRR"].difference.mean < found["MRR"].difference.high


def test_held_out_questions_are_sought_among_distractors_too(run):
    plain = of(run(), Scored)[0]
    elsewhere = (Span("elsewhere", 1, 0, 9),)
    twins = tuple(replace(pair.positive, id=f"twin {pair.id}", spans=elsewhere) for pair in DATA.held_out)
    harder = of(run(data=replace(DATA, distractors=twins), folder="other"), Scored)[0]
    assert harder.mrr < plain.mrr
    assert harder.mrr <= 0.5  # each has a twin, and of equal scores the worse order counts
    assert replace(DATA, distractors=twins).hash != DATA.hash
