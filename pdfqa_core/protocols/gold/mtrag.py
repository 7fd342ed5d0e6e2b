"""MT-RAG: the last question of a conversation with what was said before, the passages found for it, and its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold.base import GoldFile, GoldPlace, GoldQuestion, file_readers
from pdfqa_core.protocols.gold.collection import list_of, rows_of, text_of, with_corpus
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import peek

_HINT = "Give the tasks of MT-RAG with input, contexts and targets."
_OF_ITSELF = ("ANSWERABLE", "PARTIAL")


class MtRag:
    """{"task_id", "input": [{"speaker", "text"}], "contexts": [{"text"}], "targets"}. Source: Katsis et al. 2025."""

    words = "MT-RAG tasks"
    suffixes = (".jsonl", ".json")

    def recognises(self, path: Path) -> bool:
        """Return whether the rows have a list of turns as input."""
        return isinstance(peek(path).get("input"), list)

    def read(self, path: Path) -> GoldFile:
        """Return the questions; the passages of all tasks are what is searched."""
        return with_corpus(path, self._questions(path))

    def _questions(self, path: Path) -> Iterator[GoldQuestion]:
        for row in rows_of(path, _HINT):
            turns = list_of(row, row.values, "input", _HINT)
            if not turns or turns[-1].get("speaker") != "user":
                raise UsageError(f"{row.where}: input does not end with a question of the user.", _HINT)
            name = str(row.values.get("task_id") or row.values.get("id") or row.number)
            contexts = tuple(
                corpus_passage(str(one.get("document_id") or f"{name} {n}"), str(one.get("title") or ""), text)
                for n, one in enumerate(list_of(row, {"contexts": [], **row.values}, "contexts", _HINT), start=1)
                if (text := str(one.get("text") or "").strip())
            )
            said = _words(row.values.get("answerability"))
            answerable = not said or said[0].upper() in _OF_ITSELF
            targets = [text_of(row, one, "text", _HINT) for one in list_of(row, row.values, "targets", _HINT)]
            yield GoldQuestion(
                name, text_of(row, turns[-1], "text", _HINT), row.number, tuple(targets) if answerable else (),
                tuple(GoldPlace(one.id) for one in contexts) if answerable else (), answerable,
                history=_pairs(turns[:-1]), conversation=str(row.values.get("conversation_id") or ""),
                contexts=contexts, kind=", ".join(_words(row.values.get("Question Type"))),
            )  # fmt: skip


def _words(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)] if value else []


def _pairs(turns: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Return (question, answer) pairs; what one side says in several messages is joined."""
    pairs: list[tuple[str, str]] = []
    for turn in turns:
        text = str(turn.get("text") or "").strip()
        if turn.get("speaker") == "user":
            pairs.append((text, ""))
        elif pairs:
            pairs[-1] = (pairs[-1][0], " ".join(filter(None, (pairs[-1][1], text))))
    return tuple(pairs)


file_readers.register("mtrag")(MtRag())
