"""SQuAD 1 and 2, and the data sets in their form (COVID-QA, XQuAD): paragraphs with questions and answer spans.

QuAC has the same form; its questions of a paragraph are one conversation. Sources: Rajpurkar et al. 2016 and 2018, Choi
et al. 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pdfqa_core.protocols.gold.base import GoldFile, GoldPlace, GoldQuestion, file_readers
from pdfqa_core.protocols.gold.collection import list_of, rows_of, text_of, with_corpus
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import JsonRow, peek
from pdfqa_core.types import Passage

_HINT = 'Write {"data": [{"title": …, "paragraphs": [{"context": …, "qas": [{"id", "question", "answers"}]}]}]}.'
_NONE = "CANNOTANSWER"  # QuAC's answer to what the text does not answer


class Squad:
    """{"data": [{"title", "paragraphs": [{"context", "qas": […]}]}]}."""

    words = "SQuAD 1 or 2, or QuAC"
    suffixes = (".json",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file holds paragraphs under "data"."""
        data = peek(path).get("data")
        return isinstance(data, list) and bool(data) and isinstance(data[0], Mapping) and "paragraphs" in data[0]

    def read(self, path: Path) -> GoldFile:
        """Return the questions; each paragraph is a passage."""
        return with_corpus(path, self._questions(path))

    def _questions(self, path: Path) -> Iterator[GoldQuestion]:
        number = 0
        for row in rows_of(path, _HINT, within=("data",)):
            title = str(row.values.get("title") or f"text {row.number}")
            for place, paragraph in enumerate(list_of(row, row.values, "paragraphs", _HINT), start=1):
                text = text_of(row, paragraph, "context", _HINT).removesuffix(_NONE).strip()
                heading = ", ".join(filter(None, (title, str(paragraph.get("section_title") or ""))))
                passage = corpus_passage(f"{title}, paragraph {place}", heading, text)
                before = ""
                for qa in list_of(row, paragraph, "qas", _HINT):
                    number += 1
                    made = _question(row, qa, number, passage, before)
                    before = made.id if "followup" in qa else ""
                    yield made


def _question(row: JsonRow, qa: Mapping[str, Any], number: int, passage: Passage, before: str) -> GoldQuestion:
    answers = [text_of(row, one, "text", _HINT) for one in list_of(row, {"answers": [], **qa}, "answers", _HINT)]
    references = tuple(dict.fromkeys(one for one in answers if one != _NONE))
    answerable = bool(references) and not qa.get("is_impossible")
    return GoldQuestion(
        str(qa.get("id") or number), text_of(row, qa, "question", _HINT), number, references if answerable else (),
        (GoldPlace(passage.id),) if answerable else (), answerable, before, contexts=(passage,),
        kind={"y": "yes or no", "n": "yes or no"}.get(str(qa.get("yesno", "")), ""),
    )  # fmt: skip


class Coqa:
    """{"data": [{"id", "story", "questions": [{"input_text"}], "answers": [{"input_text"}]}]}. Source: Reddy 2019."""

    words = "CoQA"
    suffixes = (".json",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file holds stories under "data"."""
        data = peek(path).get("data")
        return isinstance(data, list) and bool(data) and isinstance(data[0], Mapping) and "story" in data[0]

    def read(self, path: Path) -> GoldFile:
        """Return the questions; each story is a passage, each list of questions a conversation."""
        return with_corpus(path, self._questions(path))

    def _questions(self, path: Path) -> Iterator[GoldQuestion]:
        hint = 'Write {"data": [{"id", "story", "questions": […], "answers": […]}]}.'
        number = 0
        for row in rows_of(path, hint, within=("data",)):
            name = str(row.values.get("id") or row.number)
            passage = corpus_passage(name, "", text_of(row, row.values, "story", hint))
            more = row.values.get("additional_answers")
            answered = [list_of(row, row.values, "answers", hint)]
            answered += [list_of(row, more, key, hint) for key in more] if isinstance(more, Mapping) else []
            before = ""
            for turn, question in enumerate(list_of(row, row.values, "questions", hint)):
                number += 1
                given = [text_of(row, answers[turn], "input_text", hint) for answers in answered if turn < len(answers)]
                known = tuple(dict.fromkeys(one for one in given if one.lower() != "unknown"))
                own_id = f"{name}.{turn + 1}"
                yield GoldQuestion(
                    own_id, text_of(row, question, "input_text", hint), number, known,
                    (GoldPlace(passage.id),) if known else (), bool(known), before, contexts=(passage,),
                )  # fmt: skip
                before = own_id


file_readers.register("squad")(Squad())
file_readers.register("coqa")(Coqa())
