"""What the Annotate tab shows, as HTML: the item, the form, the bar below it, and the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pdfqa_core.protocols.annotation import AnnotationProgress, Given, Judged, judged
from pdfqa_core.services.studies import RatingItem, StudyResults
from pdfqa_core.types import AppliesTo, Criterion
from pdfqa_core.ui.chat_view import place, turn_view
from pdfqa_core.ui.components import clock, render
from pdfqa_core.ui.passage_text import Piece, pieces


@dataclass(frozen=True, slots=True)
class HitRow:
    """A passage card of the item."""

    rank: int
    place: str
    rated: str
    text: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A button of the form."""

    value: str
    label: str
    key: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FormRow:
    """The buttons for one item: the turn, or the passage of this rank."""

    item: str
    rank: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class FormGroup:
    """What the form asks for one criterion; `rest` is what `rest_key` says of all passages that have no value."""

    criterion: str
    title: str
    help: str
    ranked: bool
    rows: tuple[FormRow, ...]
    rest_key: str
    rest: str


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """A criterion's line in the table."""

    criterion: str
    n: int
    raw: str
    raw_interval: str
    kappa: str
    interval: str
    words: str
    note: str
    pabak: str
    ac1: str
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class DisagreementRow:
    """A thing judged differently, in words."""

    turn_id: str
    question: str
    what: str
    values: tuple[str, str]
    comments: tuple[str, str]


def item_html(shown: RatingItem, criteria: Sequence[Criterion], chosen: int) -> str:
    """Return the item as the user saw it, or that all are rated."""
    if shown.item is None:
        return no_item_html("", finished=True, total=shown.progress.total)
    turn, filenames = shown.item.turn, shown.item.filenames
    rated: dict[int, list[str]] = {}
    for part in judged(turn, criteria):
        if part.key in shown.given:
            rated.setdefault(part.rank, []).append(part.criterion.label(shown.given[part.key].value))
    rows = [
        HitRow(
            hit.rank,
            place(hit, filenames),
            ", ".join(rated.get(hit.rank, ())),
            pieces(hit.passage.text, turn.standalone_question),
        )
        for hit in turn.answer.hits
    ]
    return render(
        "annotate_item", item=turn_view(turn, filenames), hits=rows, chosen=chosen, finished=False, total=0, hint=""
    )


def no_item_html(hint: str, *, finished: bool = False, total: int = 0) -> str:
    """Return the place of the item with what to do next."""
    return render("annotate_item", item=None, finished=finished, total=total, hint=hint)


def form_html(shown: RatingItem, criteria: Sequence[Criterion], saved: datetime | None) -> str:
    """Return the form with what the annotator has chosen so far; empty where no item is open."""
    if shown.item is None:
        return ""
    parts = judged(shown.item.turn, criteria)
    groups = [
        FormGroup(
            one.name, one.title, one.help, one.applies_to is AppliesTo.PASSAGE,
            tuple(_row(part, shown.given) for part in parts if part.criterion is one), one.rest_key, one.labels[-1],
        )
        for one in criteria
    ]  # fmt: skip
    missing = [part for part in parts if part.key not in shown.given]
    names = dict.fromkeys(part.criterion.name + ("s" if part.rank else "") for part in missing)
    return render(
        "annotate_form", turn=shown.item.turn.id, groups=groups, saved=clock(saved) if saved else "",
        missing=", ".join(names),
    )  # fmt: skip


def _row(part: Judged, given: Given) -> FormRow:
    chosen = given[part.key].value if part.key in given else ""
    one = part.criterion
    choices = []
    for value, label, keys in zip(one.scale, one.labels, one.keys, strict=True):
        key = keys[part.rank - 1 : part.rank] if part.rank else keys
        choices.append(Choice(value, label, key, value == chosen))
    return FormRow(part.item_id, part.rank, tuple(choices))


def bar_html(position: int, progress: AnnotationProgress) -> str:
    """Return the line with back, position, skip and next."""
    return render(
        "annotate_bar", position=position, total=progress.total, done=progress.done, minutes=progress.minutes_left
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def results_html(results: StudyResults) -> str:
    """Return who is how far, and, where it may be seen, agreement and disagreements."""
    message = "" if results.table else "Agreement appears here when two people have rated."
    if results.waiting:
        message = f"Agreement appears when everybody has finished; still rating: {', '.join(results.waiting)}."
    rows = [
        AgreementRow(
            row.criterion, row.n, _number(row.agreement), _interval(row.agreement_low, row.agreement_high),
            _number(row.kappa), _interval(row.low, row.high), row.words, row.note, _number(row.pabak),
            _number(row.ac1), row.labels, row.confusion,
        )
        for row in results.table
    ]  # fmt: skip
    lines = []
    for one in results.disagreements:
        criterion, rank = one.judged.criterion, one.judged.rank
        what = f"{criterion.name} {rank}" if rank else criterion.name
        values = (criterion.label(one.values[0]), criterion.label(one.values[1]))
        lines.append(DisagreementRow(one.turn.id, one.turn.question, what, values, one.comments))
    pair = results.table[0].annotators if results.table else ("", "")
    progress = [(name, step.done, step.total) for name, step in results.progress]
    return render("annotate_results", progress=progress, message=message, table=rows, pair=pair, disagreements=lines)


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.2f} to {high:.2f}"
