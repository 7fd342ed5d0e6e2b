"""What the Annotate tab shows, as HTML: the item, the form, the bar below it, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.protocols.annotation import ANSWER, INTENT, AnnotationProgress, Disagreement, judged, split_item
from pdfqa_core.storage import StudyTurn
from pdfqa_core.types import Rating, Turn
from pdfqa_core.ui.chat_view import place, turn_view
from pdfqa_core.ui.components import clock, render
from pdfqa_core.ui.passage_text import Piece, pieces

KEYS = "QWERTUIOPADFGHJKLZVM"
WORDS = {"1": "relevant", "0": "not relevant"}


@dataclass(frozen=True, slots=True)
class HitRow:
    """A passage card of the item."""

    rank: int
    place: str
    rated: str
    text: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage's line in the form."""

    rank: int
    item: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """A criterion's line in the table."""

    criterion: str
    n: int
    raw: str
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


def own_values(turn: Turn, ratings: Sequence[Rating], annotator: str) -> dict[tuple[str, str], Rating]:
    """Return the annotator's ratings of a turn by item and criterion."""
    items = {part.item_id for part in judged(turn)}
    return {(r.item_id, r.criterion): r for r in ratings if r.annotator == annotator and r.item_id in items}


def item_html(one: StudyTurn, own: Mapping[tuple[str, str], Rating], chosen: int) -> str:
    """Return the item as the user saw it."""
    turn = one.turn
    rows = [
        HitRow(
            hit.rank,
            place(hit, one.filenames),
            WORDS.get(own[key].value, "") if (key := (f"{turn.id}#{hit.rank}", "passage")) in own else "",
            pieces(hit.passage.text, turn.standalone_question),
        )
        for hit in turn.answer.hits
    ]
    return render(
        "annotate_item", item=turn_view(turn, one.filenames), hits=rows, chosen=chosen, finished=False, total=0, hint=""
    )


def no_item_html(hint: str, *, finished: bool = False, total: int = 0) -> str:
    """Return the place of the item with what to do next."""
    return render("annotate_item", item=None, finished=finished, total=total, hint=hint)


def form_html(turn: Turn, own: Mapping[tuple[str, str], Rating], saved: datetime | None) -> str:
    """Return the form with what the annotator has chosen so far."""

    def value(item_id: str, criterion: str) -> str:
        rating = own.get((item_id, criterion))
        return rating.value if rating else ""

    passages = [
        PassageRow(hit.rank, f"{turn.id}#{hit.rank}", KEYS[index], value(f"{turn.id}#{hit.rank}", "passage"))
        for index, hit in enumerate(turn.answer.hits[: len(KEYS)])
    ]
    open_parts = [part for part in judged(turn) if (part.item_id, part.criterion.name) not in own]
    names = dict.fromkeys(
        part.criterion.name if split_item(part.item_id)[1] is None else "passages" for part in open_parts
    )
    return render(
        "annotate_form",
        turn=turn.id,
        intents=INTENT.scale,
        intent=value(turn.id, INTENT.name),
        answer=value(turn.id, ANSWER.name),
        passages=passages,
        saved=clock(saved) if saved else "",
        missing=", ".join(names),
    )


def bar_html(position: int, progress: AnnotationProgress) -> str:
    """Return the line with back, position, skip and next."""
    return render(
        "annotate_bar", position=position, total=progress.total, done=progress.done, minutes=progress.minutes_left
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def results_html(
    progress: Sequence[tuple[str, int, int]],
    message: str,
    table: Sequence[Agreement] = (),
    differences: Sequence[Disagreement] = (),
    questions: Mapping[str, str] | None = None,
) -> str:
    """Return who is how far, and, where it may be shown, agreement and disagreements."""
    rows = [
        AgreementRow(
            row.criterion, row.n, _number(row.agreement), _number(row.kappa),
            f"{row.low:.2f} to {row.high:.2f}" if row.low is not None and row.high is not None else "–",
            row.words, row.note, _number(row.pabak), _number(row.ac1), row.labels, row.confusion,
        )
        for row in table
    ]  # fmt: skip
    lines = []
    for one in differences:
        rank = split_item(one.item_id)[1]
        what = one.criterion if rank is None else f"passage {rank}"
        words = {"1": "correct", "0": "incorrect"} if one.criterion == ANSWER.name else WORDS
        values = (words.get(one.values[0], one.values[0]), words.get(one.values[1], one.values[1]))
        lines.append(DisagreementRow(one.turn_id, (questions or {}).get(one.turn_id, ""), what, values, one.comments))
    pair = table[0].annotators if table else ("", "")
    return render("annotate_results", progress=progress, message=message, table=rows, pair=pair, disagreements=lines)
