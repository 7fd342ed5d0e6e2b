"""The list of keys that `?` opens on every tab; `assets/keys.js` moves the keys of the open tab to its top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pdfqa_core.study_types import Criterion
from pdfqa_core.ui.components import render

Keys = tuple[tuple[str, str], ...]  # keys, separated by spaces, and what they do

EVERYWHERE: Keys = (
    ("/", "to the question box of the chat"),
    ("Ctrl+K", "search titles, pages and conversations"),
    ("?", "this list"),
    ("Tab", "to the next list or field; a list is one stop"),
    ("↑ ↓ ← →", "through the tabs, and through a list and its buttons"),
    ("Home End", "first and last of a list"),
    ("Enter", "opens"),
    ("Esc", "stops what runs, closes what is open, leaves a field"),
)
PAGE: Keys = (("← →", "turn the page, while it has the focus"), ("+ −", "larger and smaller"))
OF_TABS: Mapping[str, Keys] = {
    "Documents": PAGE,
    "Retrieval": (("Enter", "searches, in the question"), *PAGE),
    "Chat": (
        ("Enter", "sends the question"),
        ("Shift+Enter", "breaks its line"),
        ("Esc", "stops the answer; leaves a question that is edited as it was"),
        *PAGE,
    ),
    "Evaluate": PAGE,
    "Train": (
        ("A", "accept the question"),
        ("R", "reject it"),
        ("E", "edit it: Enter accepts your words, Esc leaves it"),
        ("S", "skip: it comes back at the end"),
        ("B", "back"),
        ("U", "undo the last decision"),
        *PAGE,
    ),
}
RATING: Keys = (
    ("Enter", "submits a finished item; next unrated"),
    ("Shift+Q Shift+W …", "opens the first, second, … passage whole, with its page"),
    ("Shift+1", "opens the page of the gold passage"),
    ("C", "comment"), ("S", "skip: it comes back at the end"), ("B", "back"),
    ("Backspace", "undo: the item that was submitted last"), ("0", "cannot judge, with a reason"),
    (".", "guideline"), (",", "the turns before this one"), ("-", "finished items are submitted by themselves"),
    ("Esc", "closes the page"),
)  # fmt: skip


def _of_criterion(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """Yield the keys that give a criterion's values."""
    title = criterion.title.lower()
    for keys, label in zip(criterion.keys, criterion.labels, strict=True):
        if len(keys) > 1:
            yield f"{' '.join(keys[:4])} …", f"{title}: the first, second, … is {label}"
        elif keys:
            yield keys, f"{title}: {label}"
    if criterion.rest_key:
        yield criterion.rest_key, f"{title}: the others are {criterion.labels[-1]}"


def shortcuts_html(criteria: Sequence[Criterion]) -> str:
    """Return the list with the keys of all tabs; `criteria` are what the Annotate tab asks."""
    rating = tuple(pair for criterion in criteria for pair in _of_criterion(criterion)) + RATING
    groups = {"Everywhere": EVERYWHERE, **OF_TABS, "Annotate": rating}
    return render(
        "shortcuts", groups=[(name, [(keys.split(), words) for keys, words in rows]) for name, rows in groups.items()]
    )
