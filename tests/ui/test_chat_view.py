"""What the chat shows of an answer, without a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import pytest

from pdfqa_core.reading.answerability import CONFIDENCE
from pdfqa_core.reading.outcomes import NOT_ANSWERED
from pdfqa_core.services import ConversationSummary, StudyTurn
from pdfqa_core.services.collections import ALL_GONE as GONE
from pdfqa_core.types import Answer, CheckedSentence, Citation, Hit, Passage, Span, Support, Turn
from pdfqa_core.ui.annotate_view import read_item_html
from pdfqa_core.ui.chat_view import (
    answer_parts,
    conversation_list,
    evidence,
    tokens_per_second,
    transcript,
    turn_view,
)
from pdfqa_core.ui.page_view import passage_parts

NAMES = {"d": "report.pdf"}
TEXT = "The pump holds 68 kg. It cost 5 <b>. Nobody knows why."
FIRST, SECOND = TEXT.index(" It"), TEXT.index(" Nobody")
PASSAGE = Passage("p", (Span("d", 3, 0, 40),), "It is new. The pump holds 68 kg of ammonia.")
HITS = (Hit(PASSAGE, 2.0, 1, "bm25"), Hit(replace(PASSAGE, id="q"), 1.0, 2, "bm25"))
ANSWER = Answer(
    TEXT,
    citations=(
        Citation(1, "p", Span("d", 3, 11, 40), "The pump holds 68 kg of ammonia.", True, 0, FIRST),
        Citation(2, "q", Span("d", 3, 0, 10), "It is new.", False, FIRST + 1, SECOND),
    ),
    hits=HITS,
    sentences=(
        CheckedSentence(0, FIRST, Support.SUPPORTED),
        CheckedSentence(FIRST + 1, SECOND, Support.PARTLY, ((TEXT.index("5"), TEXT.index("5") + 1),)),
        CheckedSentence(SECOND + 1, len(TEXT), Support.NOT_FOUND),
    ),
    model="fake",
)
TURN = Turn("t", 1, "Which pump?", "Which pump?", ANSWER)


def html(answer: Answer, question: str = "Which pump?", **options: object) -> str:
    return transcript([Turn("t", 1, "Which pump?", question, answer)], NAMES, "t", 1, **options)


def test_each_sentence_has_its_markers_and_its_badge():
    first, second, third = answer_parts(ANSWER, NAMES)
    assert "".join(part.text for part in (first, second, third)) == TEXT
    assert [part.badge and part.badge.sign for part in (first, second, third)] == ["✓", None, "?"]
    assert [[mark.number for mark in part.marks] for part in (first, second, third)] == [[1], [2], []]
    assert [run for run, unfound in second.runs if unfound] == ["5"]
    assert "".join(run for run, _ in second.runs) == second.text


def test_badges_and_marked_numbers_have_words_and_text_is_escaped():
    shown = html(ANSWER)
    assert shown.count('role="img"') == 2
    for words in ("The passage says this.", "Not found in the passages", "stands in no cited passage"):
        assert words in shown
    assert (
        "3 sentences: the passages say 1, 1 not found in the passages · 1 number not found in the cited passages"
        in shown
    )
    assert "partly" not in shown
    assert "&lt;b&gt;" in shown
    assert "<b>." not in shown


def test_quotes_and_answers_whose_sentences_nobody_checked_carry_no_mark():
    for unmarked in (replace(ANSWER, sentences=()), replace(ANSWER, reader="extractive")):
        assert [part.badge for part in answer_parts(unmarked, NAMES)] == [None, None, None]
        assert "the passages say" not in html(unmarked)


LINES = Citation(2, "q", Span("d", 3, 0, 40), "2 Pumps\n\nThe  pump holds 68 kg of <ammonia>.", False)
PERHAPS = replace(ANSWER, perhaps=True, nearest=LINES)


def test_an_answer_that_is_not_sure_has_the_lines_first_then_the_model_s_words_and_a_caution():
    shown = html(PERHAPS)
    places = [
        shown.index(words)
        for words in (
            "It may stand here:", "“2 Pumps\nThe pump holds 68 kg of &lt;ammonia&gt;.”", "report.pdf, p. 3",
            "In the model&#39;s words:", "Nobody knows why.", "Not sure that this answers the question",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    (clicked,) = re.findall('<div class="lines" ([^>]*)>', shown)
    assert 'data-action="nearest"' in clicked
    assert 'data-rank="2"' in clicked
    assert "Not found in the passages" in shown
    for absent in ("✓", "3 sentences", "checked good", "Answer anyway", "refused"):
        assert absent not in shown
    assert "perhaps" not in html(replace(PERHAPS, perhaps=False))


def test_lines_without_the_model_s_words_stand_alone():
    alone = replace(PERHAPS, text=" ".join(LINES.quote.split()), citations=(), sentences=())
    shown = html(alone)
    assert "It may stand here:" in shown
    assert "Not sure that this answers the question" in shown
    for absent in ("In the model", 'class="own-words"', "badge", 'class="cite'):
        assert absent not in shown


def test_who_rates_an_answer_reads_its_lines_and_words_and_nothing_of_how_sure_it_is():
    earlier = [replace(TURN, answer=replace(PERHAPS, refused=refused)) for refused in (True, False)]
    shown = read_item_html(StudyTurn(replace(TURN, answer=PERHAPS), "c", "Talk", NAMES), 0, earlier=earlier)
    before, item = shown.split("</details>")
    assert "<p>I found nothing in these pages that answers this.</p>" in before
    for part in (before, item):
        assert part.index("The pump holds 68 kg of &lt;ammonia&gt;.”") < part.index("Nobody knows why.")
    for absent in ("It may stand here", "In the model", "Not sure", "perhaps", "badge"):
        assert absent not in shown


def test_where_nothing_was_found_one_line_says_so_and_the_nearest_passages_are_folded():
    near = Citation(2, "q", Span("d", 3, 11, 40), "The pump holds\n68 kg of <ammonia>.", False)
    answer = Answer(
        "Insufficient context.", hits=HITS, refused=True, confidence=0.08, signals={"retrieval": 0.2, "model": 0.05},
        notes=(GONE, f"{CONFIDENCE} 0.08; 0.35 was needed."), nearest=near,
        sentences=(CheckedSentence(0, 21, Support.NOT_FOUND),),
    )  # fmt: skip
    shown = html(answer)
    assert NOT_ANSWERED in shown
    assert "Insufficient" not in shown
    assert "“The pump holds 68 kg of &lt;ammonia&gt;.”" in shown
    assert "report.pdf, p. 3" in shown
    assert shown.count('class="passage"') == 1  # both passages are of one page
    assert shown.count('data-action="anyway"') == 1
    assert shown.count("0.08") == 1
    for folded in (CONFIDENCE, "“The pump holds", 'class="passage"'):
        assert "<details" in shown[: shown.index(folded)]
    assert shown.count(GONE) == 1
    assert "<details" not in shown[: shown.index(GONE)]  # what was searched is seen at once
    assert "badge" not in shown
    several = transcript([replace(TURN, answer=answer), TURN, replace(TURN, answer=answer)], NAMES, "t", 1)
    assert several.count('data-action="anyway"') == 2


def test_speed_counts_from_the_first_word_and_leaves_the_search_out():
    seconds = {
        "rewrite": 1.0,
        "retrieve": 1.0,
        "judge": 0.5,
        "first_token": 4.5,
        "write": 2.0,
        "read": 4.0,
        "total": 7.0,
    }
    answer = Answer("A.", seconds=seconds, completion_tokens=21)
    assert tokens_per_second(answer) == pytest.approx(10)
    assert turn_view(Turn("t", 1, "Q", "Q", answer), {}).facts == ("first word 4.5 s", "10 tokens/s", "7.0 s in all")
    assert tokens_per_second(Answer("A.", seconds={"read": 1.0}, completion_tokens=21)) is None


def test_the_cited_sentence_is_marked_in_the_evidence():
    shown = evidence(HITS, NAMES, "pump", 1, ANSWER)
    assert '<span class=" quoted">The <mark>pump</mark> holds 68 kg of ammonia.</span>' in shown
    assert 'class="lead "' in shown
    chosen = Citation(2, "q", Span("d", 3, 11, 40), "The pump holds 68 kg of ammonia.", True)
    assert evidence(HITS, NAMES, "pump", 2, ANSWER, chosen).count("holds 68 kg of ammonia.</span>") == 2


def test_passages_that_were_read_stand_out_among_those_found():
    shown = evidence(HITS, NAMES, "pump", 1, replace(ANSWER, citations=ANSWER.citations[:1], read=(1,)))
    assert f"({len(HITS)}, 1 read)" in shown
    assert shown.count(">cited</span>") == 1
    assert shown.count(">not read</span>") == shown.count(" unread") == len(HITS) - 1
    uncited = evidence(HITS, NAMES, "pump", 1, replace(ANSWER, citations=(), read=(1,)))
    assert uncited.count(">read</span>") == 1
    assert "unread" not in evidence(HITS, NAMES, "pump", 1, replace(ANSWER, citations=(), read=()))


def test_a_folded_table_shows_the_row_that_matters():
    table = "Prices:\n\n| Plan | Cost |\n| --- | --- |\n| Basic | 1 |\n| Standard | 2 |\n| Plus | 3 |"
    lead, piece = passage_parts(table, "What does Standard cost?")
    assert (lead.lead, [row.best for row in piece.rows]) == (True, [False, True, False])
    _, cited = passage_parts(table, "What does Standard cost?", "| Plus | 3 |")
    assert [(row.best, row.quoted) for row in cited.rows] == [(False, False), (False, False), (True, True)]
    _, twins = passage_parts(f"Standard, Plus and what they cost.\n\n{table[9:]}\n| Standard | 4 |", "Standard cost?")
    assert [row.best for row in twins.rows] == [False, True, False, True]  # which one answers is not known
    (first,) = passage_parts("| Basic | 1 |\n| Plus | 3 |", "nothing of it")
    assert [row.best for row in first.rows] == [True, False]


def test_a_marker_stands_once_behind_a_sentence_and_says_a_row_in_words():
    passage = Passage("p", (Span("d", 3, 0, 9),), "| Europe | $ 19 |")
    cited = [Citation(1, "p", Span("d", 3, 0, 9), quote, True, 0, 6) for quote in ("| Europe | $ 19 |", "of it")]
    (part,) = answer_parts(Answer("It is.", tuple(cited), (Hit(passage, 1.0, 1, "bm25"),)), NAMES)
    assert [(mark.number, mark.quote) for mark in part.marks] == [(1, "Europe; $ 19")]


TABLE = "Net sales, in millions\n\n| | Q3 <b> | Q2 |\n| --- | --- | --- |\n| Europe | $ 19 | $ 18 |"


def test_a_quoted_row_is_shown_as_a_table_with_its_header():
    row = TABLE.splitlines()[-1]
    said = "Europe: Q3 <b>: $ 19; Q2: $ 18"
    passage = Passage("p", (Span("d", 3, 0, len(TABLE)),), TABLE)
    answer = Answer(
        said, (Citation(1, "p", Span("d", 3, 60, 80), row, True, 0, len(said)),), (Hit(passage, 1.0, 1, "bm25"),),
        reader="extractive", sentences=(CheckedSentence(0, len(said), Support.SUPPORTED),),
    )  # fmt: skip
    (part,) = answer_parts(answer, NAMES)
    assert part.table == (("", "Q3 <b>", "Q2"), ("Europe", "$ 19", "$ 18"))
    shown = html(answer)
    assert "<th>Q3 &lt;b&gt;</th>" in shown
    assert "<td>$ 19</td>" in shown
    assert answer_parts(replace(answer, reader="generative"), NAMES)[0].table == ()


def test_conversations_of_one_name_are_told_apart_by_their_time():
    def named(key: str, title: str, minute: int, second: int = 0) -> ConversationSummary:
        moment = datetime(2026, 3, 1, 9, minute, second).astimezone()
        return ConversationSummary(key, title, moment, moment, (), 1)

    shown = conversation_list(
        [named("a", "Pumps?", 5), named("b", "Pumps?", 7), named("c", "Pumps?", 7, 30), named("d", "Pipes?", 5)], "a"
    )
    times = re.findall(r'<small class="time" id="time-(\w)"[^>]*>([\d:]+)<', shown)
    assert times == [("a", "09:05"), ("b", "09:07:00"), ("c", "09:07:30")]
    assert shown.count("aria-describedby") == 3
