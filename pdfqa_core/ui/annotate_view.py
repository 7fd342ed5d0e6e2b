"""What the Annotate tab shows, as HTML: the item, the form, the bar below it, and the results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pdfqa_core.protocols.annotation import AnnotationProgress, judged
from pdfqa_core.services.rated_study import RatingItem, StudyResults
from pdfqa_core.types import Criterion
from pdfqa_core.ui.chat_view import place, turn_view
from pdfqa_core.ui.components import render
from pdfqa_core.ui.passage_text import passage_parts


def item_html(shown: RatingItem, criteria: Sequence[Criterion], chosen: int) -> str:
    """Return the item as the user saw it, or that all are rated."""
    if shown.item is None:
        return no_item_html("", finished=True, total=shown.progress.total)
    turn, filenames = shown.item.turn, shown.item.filenames
    rated: dict[int, list[str]] = {}
    for part in judged(turn, criteria):
        if part.key in shown.given:
            rated.setdefault(part.rank, []).append(part.criterion.label(shown.given[part.key].value))
    cards = [
        (
            hit,
            place(hit, filenames),
            rated.get(hit.rank, ()),
            passage_parts(hit.passage.text, turn.standalone_question, language=hit.passage.language),
        )
        for hit in turn.answer.hits
    ]
    return render(
        "annotate_item", item=turn_view(turn, filenames), cards=cards, chosen=chosen, finished=False, total=0, hint=""
    )


def no_item_html(hint: str, *, finished: bool = False, total: int = 0) -> str:
    """Return the place of the item with what to do next."""
    return render("annotate_item", item=None, finished=finished, total=total, hint=hint)


def form_html(shown: RatingItem, criteria: Sequence[Criterion], saved: datetime | None) -> str:
    """Return the form with what the annotator has chosen so far; empty where no item is open."""
    if shown.item is None:
        return ""
    parts = judged(shown.item.turn, criteria)
    chosen = {key: rating.value for key, rating in shown.given.items()}
    groups = [(one, [(part, chosen.get(part.key)) for part in parts if part.criterion is one]) for one in criteria]
    missing = [part for part in parts if part.key not in chosen]
    names = dict.fromkeys(part.criterion.name + ("s" if part.rank else "") for part in missing)
    return render("annotate_form", turn=shown.item.turn.id, groups=groups, saved=saved, missing=names)


def bar_html(position: int, progress: AnnotationProgress) -> str:
    """Return the line with back, position, skip and next."""
    return render(
        "annotate_bar", position=position, total=progress.total, done=progress.done, minutes=progress.minutes_left
    )


def results_html(results: StudyResults) -> str:
    """Return who is how far, and, where it may be seen, agreement and disagreements."""
    return render("annotate_results", results=results)
