"""Looking over synthetic questions on a terminal, one after the other, by a letter each."""

from __future__ import annotations

import textwrap
from collections import Counter

from pdfqa_core.services import LOCAL_OWNER, Outcome, Services, SyntheticQuestion

KEYS = {"a": Outcome.ACCEPTED, "r": Outcome.REJECTED}
ASKED = "[a]ccept, [r]eject, [e]dit, [s]kip, [b]ack, [q]uit: "
WIDTH = 100  # columns of a passage


def review(services: Services) -> int:
    """Show each question that nobody has decided about; store every decision before the next one is shown.

    The end of the input ends it, too. Back returns to the question before, whatever was decided about it.
    """
    waiting = services.synthesis.list(LOCAL_OWNER, [Outcome.NEW])
    names = services.documents.filenames(LOCAL_OWNER)
    decided: dict[str, Outcome] = {}
    place = 0
    while place < len(waiting):
        one = waiting[place]
        print(f"\n{place + 1} of {len(waiting)} · {names.get(one.document_id, '')}, {_pages(one)} · {one.kind}")
        print(textwrap.indent(textwrap.fill(one.passage, WIDTH), "  "))
        print(f"\n{one.text}")
        letter = _typed(ASKED).strip().casefold()[:1]
        if letter == "q":
            break
        if letter == "b":
            place = max(0, place - 1)
            continue
        if letter == "e":
            text = _typed("question: ").strip()
            if not text:
                continue
            services.synthesis.decide(LOCAL_OWNER, one.id, Outcome.ACCEPTED, text)
            decided[one.id] = Outcome.ACCEPTED
        elif letter in KEYS:
            services.synthesis.decide(LOCAL_OWNER, one.id, KEYS[letter])
            decided[one.id] = KEYS[letter]
        elif letter != "s":
            continue
        place += 1
    counts = Counter(decided.values())
    left = len(waiting) - len(decided)
    print(f"\n{counts[Outcome.ACCEPTED]} accepted, {counts[Outcome.REJECTED]} rejected, {left} left")
    return 0


def _typed(prompt: str) -> str:
    """Return what is typed; "q" at the end of the input."""
    try:
        return input(prompt)
    except EOFError:
        return "q"


def _pages(one: SyntheticQuestion) -> str:
    pages = sorted({span.page for span in one.spans})
    return f"p. {pages[0]}" if len(pages) == 1 else f"p. {pages[0]}–{pages[-1]}"
