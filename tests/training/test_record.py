"""What is told of a trained model: record, card, warning; leakage; the estimate before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.models.trained import keep_trained, note_people, stated_licence, trained_model, trained_models
from pdfqa_core.retrieval import index_text
from pdfqa_core.training import (
    BI_ENCODER,
    NOT_STATED,
    RECORD,
    BiEncoder,
    RoundRecord,
    Scored,
    TrainedOn,
    TrainingRecord,
    TrainingSettings,
    card,
    check_leakage,
    compared,
    disk_bytes,
    estimate,
    joined,
    leaked,
    made_of,
    read_record,
    words_hash,
)
from pdfqa_core.training.record import NO_HELP, UNCERTAIN
from pdfqa_core.training.rounds import memory_bytes
from pdfqa_core.types import GENERATED, Question, Span
from tests.retrieval.tiny_models import sentence_transformer
from tests.training.corpus import examples, pairs

SPANS = tuple(pair.positive.spans[0] for pair in pairs()[:2])
TRAINED = TrainedOn("mine", SPANS, (words_hash(pairs()[0].question),))
BEST = Scored(1, 3, 0.75, 0.5)


def record(before=(1, 0, 7, 9) * 10, after=(1, 2, 1, 1) * 10):
    return TrainingRecord(
        "mine", BI_ENCODER, "", "Apache-2.0", "abcd", "recipe", "hybrid", 20, TrainingSettings(), 30, len(before),
        (RoundRecord(1, 30, 28, 3, 0.25, BEST, 27, 26),), (BEST,), ((1, 1, 0.5),), compared(before, after, 5), 90.0,
        datetime(2026, 1, 2, tzinfo=UTC), {"torch": "2"}, TRAINED, ("A note.",),
    )  # fmt: skip


def test_a_record_comes_back_and_its_card_tells_it(tmp_path):
    def save(folder):
        (folder / "model.safetensors").write_bytes(b"weights")

    model = keep_trained(tmp_path, record(), save)
    assert read_record(tmp_path / "mine") == record()
    assert trained_models(tmp_path) == (model,)
    assert model.size > len(b"weights")
    scores = compared((1, 2, 3), (1, 2, 3), 5)
    noted = note_people(model, "people.jsonl", scores)
    assert noted == trained_model(tmp_path, "mine")
    assert noted.record == replace(record(), people={"people.jsonl": scores})
    text = (tmp_path / "mine" / "README.md").read_text("utf-8")
    assert text.startswith("---\nbase_model: sentence-transformers/all-MiniLM-L6-v2\nlicense: apache-2.0\n")
    assert "| HR@5 | 0.250 [" in text
    assert "| 1 | 30 | 28 | 3 | 0.250 | 0.750 | 0.500 |" in text
    assert "- A note.\n" in text
    assert "## On people.jsonl\n\n3 questions of people" in text
    assert "**On the 3 questions of people in people.jsonl it is no better" in text
    with pytest.raises(UsageError, match="model called mine already"):
        keep_trained(tmp_path, record(), save)
    (tmp_path / "mine" / RECORD).write_text("{}", encoding="utf-8")
    assert trained_models(tmp_path) == ()


@pytest.mark.parametrize(
    ("before", "after", "warning"),
    [
        ((1, 0, 7, 9) * 10, (1, 2, 1, 1) * 10, ""),
        ((1, 2, 3), (1, 2, 3), NO_HELP),
        ((1, 2, 3), (1, 9, 3), NO_HELP),
        ((1, 9, 3, 1), (1, 1, 3, 1), UNCERTAIN),
    ],
)
def test_it_warns_where_training_did_not_help(before, after, warning):
    found = record(before, after)
    assert found.warning == warning
    assert (warning in card(found)) is True
    assert found.helped == (warning != NO_HELP)


GOOD = compared((0, 7, 9) * 10, (1, 1, 2) * 10, 5)
SAME, BAD = compared((1, 2, 3) * 10, (1, 2, 3) * 10, 5), compared((1, 1, 2) * 10, (0, 7, 9) * 10, 5)


@pytest.mark.parametrize(
    ("after", "people", "words"),
    [
        ((1, 2, 1, 1) * 10, GOOD, ""),
        ((1, 2, 1, 1) * 10, SAME, "On the 30 questions of people in q.jsonl it is no better (HR@5 +0.000 [+0.000, "),
        ((1, 2, 1, 1) * 10, BAD, "On the 30 questions of people in q.jsonl it is worse (HR@5 -1.000 ["),
        ((1, 0, 7, 9) * 10, GOOD, "On the 30 questions of people in q.jsonl it is better, though (HR@5 +1.000 ["),
        ((1, 0, 7, 9) * 10, SAME, "it is no better ("),
    ],
)
def test_questions_of_people_have_a_say_in_the_warning(after, people, words):
    found = replace(record(after=after), people={"q.jsonl": people})
    assert words in found.warning
    assert (NO_HELP in found.warning) is not found.helped
    assert (found.warning == "") is (words == "")
    assert (found.verdict == found.warning) is bool(words)
    assert words or "held-out questions and on those of q.jsonl" in found.verdict


@pytest.mark.parametrize(
    ("header", "licence", "told"),
    [
        ("---\nlicense: mit\n---\n# A model", "mit", "mit"),
        ("---\ntags:\n- x\nlicense:\n- apache-2.0\n- mit\n---\n", "apache-2.0, mit", "apache-2.0, mit"),
        ("---\nlicense: other\nlicense_name: house-rules\n---\n", "house-rules", "house-rules"),
        ("---\ntags: [x]\n---\n", NOT_STATED, "unknown"),
        ("# license: mit in the text alone", NOT_STATED, "unknown"),
        ("---\nlicense: [\n---\n", NOT_STATED, "unknown"),
        (None, NOT_STATED, "unknown"),
    ],
)
def test_the_licence_of_the_base_is_read_from_its_card(tmp_path, header, licence, told):
    if header is not None:
        (tmp_path / "README.md").write_text(header, encoding="utf-8")
    assert stated_licence(str(tmp_path)) == licence
    text = card(replace(record(), base_licence=licence))
    assert f"\nlicense: {told}\n" in text
    assert f"base model ({licence}) counts" in text


def item(number, *, id_="x", text="Who asks?", page=None):
    place = SPANS[number]
    spans = () if page else (Span(place.document_id, place.page, place.start + 1, place.end + 5),)
    return GoldItem(Question(id_, text, "file"), gold_spans=spans, gold_pages=page or ())


def test_questions_of_people_may_measure_it_and_made_ones_may_not():
    people, made = item(0), item(0, id_="made")
    by_words = item(1, text="What IS this about")
    trained = GoldItem(Question("y", f"{pairs()[0].question.upper()}!", "file"))
    elsewhere = replace(people, gold_spans=(Span("other", 1, 0, 9),))
    by_page = item(1, id_="made", page=((SPANS[1].document_id, SPANS[1].page),))
    generated = {"made": (SPANS[0],), words_hash("What is this about?"): (SPANS[1],)}
    items = [people, made, by_words, trained, elsewhere, by_page]
    assert leaked(TRAINED, items, generated) == (made, by_words, trained, by_page)
    assert leaked(TRAINED, items, {"made": (Span("other", 1, 0, 9),)}) == (made, trained, by_page)
    check_leakage(TRAINED, [people, elsewhere], generated)
    with pytest.raises(UsageError, match="4 of 6 questions were made of passages that mine is trained on"):
        check_leakage(TRAINED, items, generated)


def test_a_generated_question_is_known_without_those_of_the_workspace():
    marked = GoldItem(Question("q", "What else is told?", GENERATED))
    passage = pairs()[0].positive.text
    texts = replace(TRAINED, passages=(words_hash(passage),))
    assert leaked(texts, [marked], {}) == ()
    assert leaked(texts, [replace(marked, gold_spans=SPANS[:1])], {}) != ()
    assert leaked(texts, [replace(marked, gold_texts=(f"{passage} ",))], {}) != ()
    assert leaked(texts, [GoldItem(Question("q", "What else is told?", "file"), gold_texts=(passage,))], {}) == ()
    known = replace(TRAINED, generated=("made", words_hash("Who asks?")))
    assert len(leaked(known, [GoldItem(Question("x", "Who ASKS", "file"))], {})) == 1
    assert len(leaked(known, [GoldItem(Question("made", "Anything?", "file"))], {})) == 1


def test_what_was_made_of_trained_passages_is_noted_and_inherited():
    made = {"a": (SPANS[0],), "b": (Span("other", 1, 0, 9),)}
    assert made_of(TRAINED, made) == ("a",)
    other = TrainedOn("base", (SPANS[0], Span("other", 1, 0, 9)), ("q",), ("p",), ("g",))
    assert joined("next", [other, TRAINED]) == TrainedOn(
        "next", (SPANS[0], Span("other", 1, 0, 9), SPANS[1]), ("q", *TRAINED.questions), ("p",), ("g",)
    )


def test_the_estimate_counts_steps_and_leaves_the_model_as_it_is(tmp_path):
    pytest.importorskip("sentence_transformers")
    trainee = BiEncoder.load(str(sentence_transformer(tmp_path)))
    before = [one.detach().clone() for one in trainee.model.parameters()]
    ticks = iter(range(100))
    settings = TrainingSettings(steps=10, batch=8, chunk=64, evaluate_every=5, hard_negatives=0)
    found = estimate(trainee, examples(), 16, settings, index_text, clock=lambda: float(next(ticks)))
    # The trial of eight passages takes a tick, and so does a step; each of five scorings reads 16, forward only.
    assert found.seconds == pytest.approx(2 * 10 * 1 + 5 * 16 / 8 / 3)
    assert all(one.equal(old) for one, old in zip(trainee.model.parameters(), before, strict=True))
    assert all(one.grad is None or not one.grad.any() for one in trainee.model.parameters())
    parameters = sum(one.numel() for one in trainee.model.parameters())
    assert found.disk == disk_bytes(trainee) == 9 * 4 * parameters
    small, large = (memory_bytes(trainee, 20, replace(settings, chunk=chunk)) for chunk in (1, 64))
    assert 20 * parameters < small < large
