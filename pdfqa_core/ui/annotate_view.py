"""What the Annotate tab shows, as HTML: the item, the form and the bar below it; and what it knows of who is at work.

Nothing of what the program thinks of its own answer is shown to those who rate it: no confidence, no colours of
citations, no notes, no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pdfqa_core.protocols.annotation import Judged, judged, needed
from pdfqa_core.protocols.study_definition import PASSAGE_KEYS
from pdfqa_core.reading.outcomes import rated_text
from pdfqa_core.services import StudyTurn
from pdfqa_core.services.studies import RatingItem
from pdfqa_core.study_types import Criterion, ItemRole
from pdfqa_core.types import Turn
from pdfqa_core.ui.chat_view import place, turn_view
from pdfqa_core.ui.components import render
from pdfqa_core.ui.page_view import passage_parts

REASONS = (
    "The question is not clear",
    "What must be read cannot be read",
    "It needs knowledge that I do not have",
    "The guideline does not say",
)  # why an item cannot be judged; their keys are 1, 2, …


@dataclass(frozen=True, slots=True)
class Work:
    """The open study, who is rating, the turn on screen, when it was opened (seconds of a clock), the last save.

    `rank` is the open passage (below 0: of the gold answer), `seen` what the form showed last (see RatingItem),
    `submitted` the turn that was submitted last, `alone`: a finished item is submitted without Enter, `deciding`: the
    turn is open to be adjudicated.
    """

    study_id: str = ""
    annotator: str = ""
    turn_id: str = ""
    opened: float = 0.0
    saved: datetime | None = None
    rank: int = 0
    seen: int = 0
    submitted: str = ""
    alone: bool = False
    deciding: bool = False


def item_html(shown: RatingItem, criteria: Sequence[Criterion], chosen: int) -> str:
    """Return the item as the user saw it, or that all are rated."""
    if shown.item is None:
        return no_item_html("", finished=True, total=shown.progress.total)
    rated: dict[int, list[str]] = {}
    for part in judged(shown.item.turn, criteria):
        if part.rank and part.key in shown.given:
            rated.setdefault(part.rank, []).append(part.criterion.label(shown.given[part.key].value))
    return read_item_html(shown.item, chosen, rated, shown.earlier, shown.guideline)


def read_item_html(
    one: StudyTurn,
    chosen: int,
    rated: Mapping[int, Sequence[str]] | None = None,
    earlier: Sequence[Turn] = (),
    guideline: str = "",
) -> str:
    """Return an item to read; `rated` are the labels that its passages have been given."""
    turn, filenames = one.turn, one.filenames
    quotes = {citation.number: citation.quote for citation in reversed(turn.answer.citations)}
    cards = [
        (
            hit,
            place(hit, filenames),
            (rated or {}).get(hit.rank, ()),
            passage_parts(
                hit.passage.text, turn.standalone_question, quotes.get(hit.rank, ""), hit.passage.language, marked=False
            ),
            PASSAGE_KEYS[hit.rank - 1 : hit.rank],
        )
        for hit in turn.answer.hits
    ]
    before = [(turn.question, rated_text(turn.answer)) for turn in earlier]
    golds = [(gold, passage_parts(gold.text, turn.question)) for gold in one.details.gold if gold.text or gold.page]
    return render(
        "annotate_item",
        item=turn_view(turn, filenames),
        cards=cards,
        chosen=chosen,
        finished=False,
        total=0,
        hint="",
        golds=golds,
        details=one.details,
        earlier=before,
        guideline=guideline,
        role=one.details.role,
    )


def no_item_html(hint: str, *, finished: bool = False, total: int = 0) -> str:
    """Return the place of the item with what to do next."""
    return render("annotate_item", item=None, finished=finished, total=total, hint=hint)


def finished(shown: RatingItem) -> bool:
    """Return whether everything about an item has a value."""
    return shown.item is not None and all(part.key in shown.given for part in needed(shown.item.turn, shown.criteria))


def form_html(
    shown: RatingItem,
    criteria: Sequence[Criterion],
    saved: datetime | None,
    *,
    study_id: str = "",
    by: str = "",
    alone: bool = False,
) -> str:
    """Return the form with what the annotator has chosen so far; who rates alone where no item is open.

    `by`: who rates, in which study. `alone`: a finished item is submitted without Enter.
    """
    if shown.item is None:
        return render("annotate_form", turn="", study_id=study_id, by=by)
    parts = judged(shown.item.turn, criteria)
    chosen = {key: rating.value for key, rating in shown.given.items()}
    groups = [(one, [(part, chosen.get(part.key)) for part in parts if part.criterion is one]) for one in criteria]
    missing = [part for part in needed(shown.item.turn, criteria) if part.key not in chosen]
    names = dict.fromkeys(part.criterion.name + ("s" if part.rank else "") for part in missing)
    details = shown.item.details
    explained = details.role is ItemRole.TRAINING and shown.submitted and not shown.draft
    right = {part.key: value for part in parts if (value := details.expected.get(_expected(part)))}
    return render(
        "annotate_form",
        turn=shown.item.turn.id,
        study_id=study_id,
        by=by,
        groups=groups,
        saved=saved,
        missing=names,
        state=_state(shown),
        first=shown.first,
        explained=explained,
        explanation=details.explanation,
        right=right if explained else {},
        alone=alone,
    )


def _expected(part: Judged) -> str:
    return f"{part.criterion.name}#{part.rank}" if part.rank else part.criterion.name


def _state(shown: RatingItem) -> str:
    """Return in words whether the item is submitted."""
    if shown.skipped and not shown.submitted:
        return f"Skipped: {shown.skipped}. Rate it after all, or go on."
    if shown.draft:
        if shown.revises:
            return "Changed. Enter keeps the change as a revision; your first value still counts."
        changed = "Changed since it was submitted" if shown.submitted else "Draft"
        return f"{changed}: Enter submits it." if finished(shown) else f"{changed}."
    if not shown.submitted:
        return ""
    return "Submitted, and revised since." if shown.first else "Submitted."


def bar_html(shown: RatingItem, *, alone: bool = False, undo: bool = False) -> str:
    """Return the line with back, position, undo, skip and next; `alone`: finished items are submitted by themselves."""
    progress = shown.progress
    return render(
        "annotate_bar",
        position=shown.position,
        total=progress.total,
        done=progress.done,
        minutes=progress.minutes_left,
        alone=alone,
        undo=undo,
        reasons=REASONS,
        open=shown.item is not None,
        ready=finished(shown) and (shown.draft or not shown.submitted),
    )
