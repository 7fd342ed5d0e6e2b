"""CLAPnq: a question, a passage, and a long answer with the sentences it rests on; none where it is unanswerable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pdfqa_core.protocols.gold.base import GoldFile, GoldPlace, GoldQuestion, file_readers
from pdfqa_core.protocols.gold.collection import list_of, rows_of, text_of, with_corpus
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import peek

_HINT = "Give the rows of CLAPnq with id, input, passages and output."


class Clapnq:
    """{"id", "input", "passages": [{"title", "text"}], "output": [{"answer"}]}. Source: Rosenthal et al. 2024."""

    words = "CLAPnq"
    suffixes = (".jsonl", ".json")

    def recognises(self, path: Path) -> bool:
        """Return whether the rows have passages and output."""
        first = peek(path)
        return {"input", "passages", "output"} <= first.keys() and isinstance(first["input"], str)

    def read(self, path: Path) -> GoldFile:
        """Return the questions; the passages of all rows are what is searched."""
        return with_corpus(path, self._questions(path))

    def _questions(self, path: Path) -> Iterator[GoldQuestion]:
        for row in rows_of(path, _HINT):
            name = str(row.values.get("id") or row.number)
            passages = list_of(row, row.values, "passages", _HINT)
            contexts = tuple(
                corpus_passage(f"{name}.{n}", str(one.get("title") or ""), text_of(row, one, "text", _HINT))
                for n, one in enumerate(passages, start=1)
            )
            answers = [str(one.get("answer") or "").strip() for one in list_of(row, row.values, "output", _HINT)]
            references = tuple(dict.fromkeys(filter(None, answers)))
            places = tuple(GoldPlace(one.id) for one in contexts) if references else ()
            yield GoldQuestion(
                name, text_of(row, row.values, "input", _HINT), row.number, references, places, bool(references),
                contexts=contexts,
            )  # fmt: skip


file_readers.register("clapnq")(Clapnq())
