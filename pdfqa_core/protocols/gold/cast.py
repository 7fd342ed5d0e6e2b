"""TREC CAsT: conversations whose turns come with the passage that answers them.

That passage is the answer in the conversation so far, as in the track, and the reference: CAsT has no others. Source:
Dalton et al. 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pdfqa_core.protocols.gold.base import GoldFile, GoldPlace, GoldQuestion, file_readers
from pdfqa_core.protocols.gold.collection import list_of, rows_of, text_of, with_corpus
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import peek

_HINT = 'Give the topics of CAsT 2021 or 2022: {"number", "turn": [{"number", "raw_utterance", "passage"}]}.'


class Cast:
    """[{"number", "turn": [{"number", "raw_utterance", "passage"}]}]."""

    words = "TREC CAsT topics with passages"
    suffixes = (".json",)

    def recognises(self, path: Path) -> bool:
        """Return whether the rows have turns with utterances."""
        turns = peek(path).get("turn")
        return isinstance(turns, list) and bool(turns) and isinstance(turns[0], Mapping) and "raw_utterance" in turns[0]

    def read(self, path: Path) -> GoldFile:
        """Return the turns; the passages of all of them are what is searched."""
        return with_corpus(path, self._questions(path))

    def _questions(self, path: Path) -> Iterator[GoldQuestion]:
        number = 0
        for row in rows_of(path, _HINT):
            before = ""
            for turn in list_of(row, row.values, "turn", _HINT):
                number += 1
                own_id = f"{row.values.get('number', row.number)}_{turn.get('number', number)}"
                text = str(turn.get("passage") or "").strip()
                source = str(turn.get("canonical_result_id") or own_id)
                passage = corpus_passage(f"{source}-{turn.get('passage_id', '')}".rstrip("-"), "", text)
                contexts = (passage,) if text else ()
                yield GoldQuestion(
                    own_id, text_of(row, turn, "raw_utterance", _HINT), number, (text,) if text else (),
                    tuple(GoldPlace(one.id) for one in contexts), True, before, contexts=contexts,
                )  # fmt: skip
                before = own_id


file_readers.register("cast")(Cast())
