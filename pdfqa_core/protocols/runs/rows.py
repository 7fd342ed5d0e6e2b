"""How the questions of a run and what was predicted for them stand in files, so that they are scored again from these.

Rows are {"id", "answer", "citations", …}, as `evaluate answers` reads them, with all that any score is computed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import CitedPlace, Prediction, ReadText
from pdfqa_core.metrics.insufficient_context import PHRASE
from pdfqa_core.protocols.gold.texts import corpus_passage
from pdfqa_core.protocols.json_rows import JsonRow
from pdfqa_core.protocols.runs.base import Case
from pdfqa_core.types import Outcome

F = TypeVar("F", bound="Fields")


class Fields(BaseModel):
    """Fields of a row; numbers may stand for ids."""

    model_config = ConfigDict(coerce_numbers_to_str=True, frozen=True)

    id: str


class GoldFields(Fields):
    """A question with its gold. Empty `references` mean that no gold answer is known, whatever `answer` holds."""

    question: str = ""
    answer: str | tuple[str, ...] = ()
    references: tuple[str, ...] | None = None
    answerable: bool = True
    citations: tuple[str, ...] | None = None
    type: str = ""
    conversation: str = ""
    turn: int = 1
    contexts: tuple[str, ...] = ()
    recorded: str | None = None
    human: bool | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """All references."""
        if self.references is not None:
            return self.references
        return (self.answer,) if isinstance(self.answer, str) else self.answer


class QuoteFields(BaseModel):
    """Lines that a system quotes, with their place."""

    filename: str = ""
    page: int = 1
    quote: str = ""


class PredictedFields(Fields):
    """What a system predicted. Citations that no gold answer is compared with are `cited`."""

    answer: str = ""
    citations: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    refused: bool = False
    outcome: Outcome | None = None
    quote: QuoteFields | None = None
    searched_for: str = ""
    found: tuple[tuple[str, ...], ...] | None = None
    context: tuple[str, ...] = ()
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    error: str = ""
    hint: str = ""


class Rows:
    """The rows of a protocol. `contexts`: it is scored by the texts that the data set gives, which are written then."""

    def __init__(self, *, contexts: bool = False) -> None:
        self._contexts = contexts

    def gold(self, case: Case) -> dict[str, Any]:
        """Return the row of a question in the file of gold answers."""
        answers = list(case.references) or ([] if case.answerable else [PHRASE])
        row: dict[str, Any] = {
            "id": case.id, "question": case.question, "answer": answers[0] if len(answers) == 1 else answers,
            "answerable": case.answerable,
        }  # fmt: skip
        more = {
            "references": [] if answers and not case.references else None,
            "citations": None if case.gold_citations is None else list(case.gold_citations),
            "type": case.kind or None,
            "conversation": case.conversation or None,
            "turn": case.turn if case.conversation or case.history else None,
            "contexts": [one.text for one in case.contexts] if self._contexts else None,
            "recorded": case.recorded,
            "human": case.human,
        }
        return row | _known(more)

    def predicted(self, case: Case, prediction: Prediction, *, cited: bool) -> dict[str, Any]:
        """Return the row of a prediction; `cited`: citations are compared with those of a gold answer."""
        lines = prediction.quote
        row: dict[str, Any] = {
            "id": case.id, "answer": prediction.answer,
            "citations" if cited else "cited": list(dict.fromkeys(place.id for place in prediction.citations)),
            "refused": prediction.refused, "outcome": prediction.outcome.value, "searched_for": prediction.asked,
            "seconds": prediction.seconds,
        }  # fmt: skip
        more = {
            "quote": lines and {"filename": lines.filename, "page": lines.page, "quote": lines.quote},
            "found": None if prediction.found is None else [list(places) for places in prediction.found],
            "context": [one.text for one in prediction.evidence] or None,
            "confidence": prediction.confidence,
            "notes": list(prediction.notes) or None,
            "error": prediction.error or None,
            "hint": prediction.hint or None,
        }
        return row | _known(more)

    def case(self, row: JsonRow) -> Case:
        """Return the question of a row. Raises UsageError that names row and field.

        Of the turns before it only their number is known.
        """
        given = checked(row, GoldFields)
        contexts = (corpus_passage(f"{given.id}.{n}", "", text) for n, text in enumerate(given.contexts, start=1))
        return Case(
            given.id, given.question, given.answers, given.answerable, given.type, given.conversation,
            (("", ""),) * max(0, given.turn - 1), contexts=tuple(contexts),
            gold_citations=given.citations, recorded=given.recorded, human=given.human,
        )  # fmt: skip

    def prediction(self, row: JsonRow) -> Prediction:
        """Return the prediction of a row. Raises UsageError that names row and field."""
        given = checked(row, PredictedFields)
        lines = CitedPlace("", **given.quote.model_dump()) if given.quote else None
        refused = given.refused or given.outcome is Outcome.NOTHING
        return Prediction(
            given.id, given.answer, refused, tuple(CitedPlace(one) for one in given.citations or given.cited),
            tuple(ReadText("", text) for text in given.context), given.searched_for, given.confidence,
            given.notes, given.seconds, given.error, given.hint, given.found,
            given.outcome is Outcome.PERHAPS, lines,
        )  # fmt: skip


def checked(row: JsonRow, kind: type[F]) -> F:
    """Return the fields of a row. Raises UsageError that names row and field."""
    try:
        return kind.model_validate(row.values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{row.where}: {field}: {first['msg']}.", "Write it as `pdfqa evaluate run --out` does."
        ) from error


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
