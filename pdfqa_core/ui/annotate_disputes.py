"""Where raters differ, as the Annotate tab shows it to be decided: what was said without names, value and reason."""

from __future__ import annotations

from datetime import UTC, datetime

from pdfqa_core.protocols.study_disagreements import ERROR_CATEGORIES
from pdfqa_core.services import Services
from pdfqa_core.services.adjudication import DisputedItem
from pdfqa_core.ui.components import Click, render

ACTIONS = ("decide", "decide-next", "own", "close")


def dispute_html(study_id: str, found: DisputedItem, saved: datetime | None, *, own: bool) -> str:
    """Return the form that decides about an item; `own`: somebody is signed in who may change their own ratings."""
    values = {"found": found, "categories": ERROR_CATEGORIES, "saved": saved, "own": own}
    return render("annotate_dispute", study_id=study_id, **values)


def decide(services: Services, owner: str, study_id: str, viewer: str, data: Click) -> None:
    """Save a decision. Raises UsageError."""
    services.adjudication.decide(
        owner, study_id, viewer, data["item"], data["criterion"], data["value"], reason=data.get("reason", ""),
        category=data.get("category", ""), decided_by=data.get("by", ""),
    )  # fmt: skip


def now() -> datetime:
    """Return the time, for what was just saved."""
    return datetime.now(UTC)
