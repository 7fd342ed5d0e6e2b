"""Summaries: by a scripted model and checked, or in sentences of the document's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdfqa_core.reading.evidence import Meaning
from pdfqa_core.reading.summary import NOTHING_SUPPORTED, SummaryReader, representative
from pdfqa_core.types import Done, Hit, Passage, Progress, Span, Support, Token

TEXTS = (
    "The harbour of Oldham sells granite by the tonne. Granite is blasted on Tuesdays by a crew of nine people.",
    "The fee for a night at the pier is nine crowns. This is the old price of granite.",
    "Boats are kept in a hall during the winter, under a roof of granite slabs. No boat may stay on the pier.",
)


@pytest.fixture
def hits():
    found = []
    for number, text in enumerate(TEXTS, start=1):
        span = Span("doc", number, 0, len(text))
        found.append(Hit(Passage(f"p{number}", (span,), text, "Oldham"), 1.0, number, "spread"))
    return found


def done(events):
    assert isinstance(events[-1], Done)
    return events[-1].answer


def test_the_model_writes_and_each_sentence_cites_its_passage(fake_llm, hits):
    fake_llm.enqueue(
        ["Granite is sold by the tonne in the harbour of Oldham. A night at the pier costs nine crowns [2]."]
    )
    events = list(SummaryReader(fake_llm, "Oldham").read("", hits))
    answer = done(events)
    assert "".join(event.text for event in events if isinstance(event, Token)).startswith("Granite is sold")
    assert (
        answer.text == "Granite is sold by the tonne in the harbour of Oldham. A night at the pier costs nine crowns."
    )
    assert [(citation.number, citation.span.page) for citation in answer.citations] == [(1, 1), (2, 2)]
    assert (answer.reader, answer.model, answer.read) == ("generative", "fake", (1, 2, 3))
    (prompt,) = fake_llm.history[0]
    assert all(text in prompt.content for text in TEXTS)
    assert 'the document "Oldham"' in prompt.content


def test_the_model_reads_rows_of_tables_with_the_names_of_their_columns(fake_llm):
    text = "Net sales\nin millions\n\n| | 52 Weeks | 26 Weeks |\n| --- | --- | --- |\n| Boats | $ 19 | $ 8 |\n\nEnd."
    passages = [Passage(f"p{n}", (Span("d", n, 0, len(one)),), one) for n, one in enumerate((text, "| Oars | 3 |"), 1)]
    fake_llm.enqueue(["Boats."])
    list(SummaryReader(fake_llm, "Oldham").read("", [Hit(one, 1.0, n, "x") for n, one in enumerate(passages, 1)]))
    (prompt,) = fake_llm.history[0]
    assert "Net sales in millions\nBoats: 52 Weeks: $ 19 million; 26 Weeks: $ 8 million\nEnd." in prompt.content
    assert "Oars; 3" in prompt.content
    assert "|" not in prompt.content


def test_what_no_passage_says_gives_way_to_sentences_of_the_document(fake_llm, hits):
    fake_llm.enqueue(["Penguins build igloos out of marzipan every leap year."])
    answer = done(list(SummaryReader(fake_llm, "Oldham", count=2).read("", hits)))
    assert (answer.reader, answer.notes) == ("extractive", (NOTHING_SUPPORTED,))
    assert all(one.support is Support.SUPPORTED for one in answer.sentences)
    assert len(answer.text.splitlines()) == len(answer.citations) == 2


def test_without_a_model_sentences_are_quoted_in_the_order_of_the_document(hits):
    events = list(SummaryReader(None, "Oldham", count=3).read("", hits))
    answer = done(events)
    assert isinstance(events[0], Progress)
    lines = answer.text.splitlines()
    assert len(lines) == 3
    places = [" ".join(TEXTS).index(line) for line in lines]
    assert places == sorted(places)
    for citation, line in zip(answer.citations, lines, strict=True):
        assert citation.quote == line == TEXTS[citation.number - 1][citation.span.start : citation.span.end]
        assert answer.text[citation.start : citation.end] == line
        assert citation.span.page == citation.number


def test_the_sentences_near_the_centre_are_taken_and_none_twice_in_other_words(hits):
    directions = {"granite": 0, "pier": 1, "hall": 2}

    def encode(texts):
        rows = np.full((len(texts), 3), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word, place in directions.items():
                row[place] += word in text.casefold()
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    chosen = [quote.text for quote in representative(hits, 2, Meaning(encode))]
    assert ["granite" in text.casefold() for text in chosen] == [True, False]
    once = representative([hits[0], replace(hits[0], rank=2), replace(hits[0], rank=3)], 5)
    assert [quote.hit.rank for quote in once] == [1, 1]


def test_of_several_documents_each_has_its_sentences_and_no_model_is_asked(fake_llm, hits):
    other = Passage("other", (Span("e", 1, 0, 54),), "Lanterns are lit at dusk along the whole canal of Ely.")
    both = [*hits, Hit(other, 1.0, len(hits) + 1, "x")]
    answer = done(list(SummaryReader(fake_llm, "Oldham, Ely", count=2).read("", both)))
    assert [one.span.document_id for one in answer.citations] == ["doc", "e"]
    assert fake_llm.history == []


def test_what_is_not_in_english_is_summed_up_in_its_language_and_quoted_by_its_words(fake_llm, hits):
    german = [replace(hit, passage=replace(hit.passage, language="german")) for hit in hits]
    fake_llm.enqueue(["Pinguine bauen Iglus."])
    answer = done(list(SummaryReader(fake_llm, "Oldham", count=2).read("", german)))
    assert fake_llm.history[0][0].content.endswith("Write in German.")
    assert answer.reader == "extractive"

    def unasked(texts):
        raise AssertionError(texts)

    assert len(representative(german, 2, Meaning(unasked))) == 2
