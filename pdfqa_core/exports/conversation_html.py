"""Conversations as one HTML file that needs no other: pictures of the cited pages are part of it."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from pdfqa_core.exports.citing import Source, bibtex, csl
from pdfqa_core.exports.conversations import (
    CITED,
    Names,
    PagePicture,
    Pictures,
    around,
    facts,
    footnotes,
    marked_text,
    summary,
    thumb_words,
)
from pdfqa_core.exports.html import html_page
from pdfqa_core.reading.outcomes import notes_below
from pdfqa_core.types import Conversation, Turn


def conversations_html(
    conversations: Sequence[Conversation], names: Names, pictures: Pictures, sources: Sequence[Source] = ()
) -> bytes:
    """Return the conversations as a UTF-8 HTML file; texts are escaped, and the page may load nothing."""
    title = conversations[0].title if len(conversations) == 1 else "Conversations"
    shown = [
        (one.title or "Conversation", facts(one, names), [_turn(turn, names, pictures) for turn in one.turns])
        for one in conversations
    ]
    whole = [source for source in sources if not source.missing]
    return html_page(
        "conversation", title=title or "Conversation", conversations=shown, cited=CITED,
        sources=[source.words for source in sources], bibtex=bibtex(whole), csl=csl(whole) if whole else "",
    )  # fmt: skip


def _turn(turn: Turn, names: Names, pictures: Pictures) -> dict[str, object]:
    answer = turn.answer
    notes = footnotes(answer, names)
    before, behind = around(answer, names)
    first = {note.number: note for note in reversed(notes)}  # the one that a marker leads to
    return {
        "turn": turn,
        "searched": turn.standalone_question if turn.standalone_question != turn.question else "",
        "pieces": marked_text(answer) or (() if before else (("No answer.", ()),)),
        "notes": [(note, note is first[note.number]) for note in notes],
        "before": before,
        "behind": behind,
        "below": notes_below(answer),
        "summary": summary(answer),
        "thumb": thumb_words(turn),
        "pictures": [(one, _data(one)) for one in pictures.get(turn.id, ())],
    }


def _data(picture: PagePicture) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(picture.data).decode()}" if picture.data else ""
