"""HotpotQA rows with their paragraphs: the question, ten paragraphs, and the sentences that support the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold.base import GoldFile, GoldPlace, GoldQuestion, file_readers
from pdfqa_core.protocols.gold.collection import rows_of, text_of, with_corpus
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import JsonRow, peek
from pdfqa_core.types import Passage

_HINT = "Give the rows of HotpotQA with _id, question, answer, supporting_facts and context."
Paragraph = tuple[str, tuple[str, ...]]  # title, sentences


def paragraphs_of(row: JsonRow) -> tuple[Paragraph, ...]:
    """Return the paragraphs of a row, in the order of the file. Raises UsageError that names the row."""
    given = row.values.get("context")
    try:
        pairs: Any = zip(given["title"], given["sentences"], strict=True) if isinstance(given, dict) else given
        return tuple((_text(title), tuple(map(_text, sentences))) for title, sentences in pairs)
    except (TypeError, ValueError, KeyError) as error:
        raise UsageError(f"{row.where}: context is no list of [title, sentences].", _HINT) from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _supporting(row: JsonRow) -> tuple[str, ...]:
    """Return the titles of the paragraphs that support the answer. Raises UsageError that names the row."""
    facts: Any = row.values.get("supporting_facts")
    try:
        titles = facts["title"] if isinstance(facts, dict) else [title for title, *_ in facts]
        return tuple(dict.fromkeys(map(_text, titles)))
    except (TypeError, ValueError, KeyError) as error:
        raise UsageError(f"{row.where}: supporting_facts is no list of [title, sentence].", _HINT) from error


def passage_of(paragraph: Paragraph) -> Passage:
    """Return a paragraph as a passage that is called by its title."""
    title, sentences = paragraph
    return corpus_passage(title, title, "".join(sentences))


class HotpotQA:
    """{"_id", "question", "answer", "supporting_facts": [[title, n], …], "context": [[title, [sentence, …]], …]}."""

    words = "HotpotQA with its paragraphs"
    suffixes = (".json", ".jsonl")

    def recognises(self, path: Path) -> bool:
        """Return whether the rows have supporting facts."""
        return {"supporting_facts", "context"} <= peek(path).keys()

    def read(self, path: Path) -> GoldFile:
        """Return the questions; the gold places are the paragraphs of the supporting facts."""
        return with_corpus(path, self._questions(path))

    def _questions(self, path: Path) -> Iterator[GoldQuestion]:
        for row in rows_of(path, _HINT):
            contexts = tuple(map(passage_of, paragraphs_of(row)))
            places = tuple(map(GoldPlace, _supporting(row)))
            yield GoldQuestion(
                text_of(row, row.values, "_id" if "_id" in row.values else "id", _HINT),
                text_of(row, row.values, "question", _HINT), row.number, (text_of(row, row.values, "answer", _HINT),),
                places, contexts=contexts, kind=str(row.values.get("type") or ""),
            )  # fmt: skip


file_readers.register("hotpotqa")(HotpotQA())
