"""Conversations as files, with pictures of the pages that their answers cite."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.citing import Source, source_of
from pdfqa_core.exports.conversations import (
    REMOVED,
    PagePicture,
    conversations_html,
    conversations_markdown,
    conversations_word,
    markdown_zip,
)
from pdfqa_core.exports.evaluation_files import write_jsonl
from pdfqa_core.exports.frames import conversation_row
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.readings import Claim
from pdfqa_core.storage.conversations import Conversations
from pdfqa_core.types import Conversation, Turn
from pdfqa_core.whole_files import safe_name

# By name: how files end, what a person reads, and whether there are pictures in it.
FORMS: Mapping[str, tuple[str, str, bool]] = {
    "docx": ("docx", "Word", True),
    "html": ("html", "web page", True),
    "markdown": ("md", "Markdown", False),
    "zip": ("zip", "Markdown with pages", True),
    "jsonl": ("jsonl", "JSON lines", False),
}
LONGEST_NAME = 80  # characters of a file's name
_WRITERS = {"docx": conversations_word, "html": conversations_html, "zip": markdown_zip}


@dataclass(frozen=True, slots=True)
class ConversationFile:
    """Conversations as a file: its name, its content, and how many conversations it holds."""

    name: str
    data: bytes
    rows: int


def conversation_file(
    documents: DocumentService, conversations: Conversations, owner: str, form: str, wanted: Sequence[str] = ()
) -> ConversationFile:
    """Return the conversations with these ids or titles (none: all with a turn) in a form, one of FORMS.

    Raises UsageError for another form, or a name of no conversation.
    """
    if form not in FORMS:
        raise UsageError(f"Conversations have no {form} form.", f"Use one of: {', '.join(FORMS)}.")
    suffix, _, pictured = FORMS[form]
    whole = [conversations.get(owner, one) for one in _chosen(conversations, owner, wanted)]
    whole = whole if form == "jsonl" else [_headed(one) for one in whole]
    names = documents.names(owner, *(one.id for one in whole)) | documents.collections.names(owner)
    if form == "jsonl":
        data = write_jsonl(conversation_row(one, names) for one in whole)
    elif not pictured:
        data = conversations_markdown(whole, names, sources=_sources(documents, owner, whole, names))
    else:
        pictures, sources = _pictures(documents, owner, whole, names), _sources(documents, owner, whole, names)
        data = _WRITERS[form](whole, names, pictures, sources)
    title = re.sub(r"[^\w -]+", " ", whole[0].title if len(whole) == 1 else "conversations")
    name = textwrap.shorten(title, LONGEST_NAME, placeholder="") or "conversation"
    return ConversationFile(safe_name(f"{name}.{suffix}"), data, len(whole))


def _chosen(conversations: Conversations, owner: str, wanted: Sequence[str]) -> tuple[str, ...]:
    known = conversations.list(owner)
    if not wanted:
        return tuple(one.id for one in known if one.turn_count)
    found: list[str] = []
    for name in wanted:
        ids = [one.id for one in known if name in (one.id, one.title)]
        if not ids:
            raise UsageError(f"There is no conversation {name!r}.", "Name one by its title or its id.")
        found += ids
    return tuple(dict.fromkeys(found))


def _sources(
    documents: DocumentService, owner: str, conversations: Sequence[Conversation], names: Mapping[str, str]
) -> tuple[Source, ...]:
    """Return the documents that are cited, the first cited first, as what their files say of themselves."""
    turns = [turn for conversation in conversations for turn in conversation.turns]
    cited = dict.fromkeys(document_id for turn in turns for document_id, _ in _cited(turn))
    found = []
    for document_id in documents.still_there(owner, tuple(cited)):
        try:
            found.append(source_of(documents.properties(owner, document_id), names[document_id]))
        except PdfQAError as error:
            found.append(Source(names[document_id], problem=str(error)))
    return tuple(found)


def _pictures(
    documents: DocumentService, owner: str, conversations: Sequence[Conversation], names: Mapping[str, str]
) -> dict[str, tuple[PagePicture, ...]]:
    """Return the pictures of the pages that each turn cites, by turn id."""
    numbers, there = count(1), documents.filenames(owner)
    return {
        turn.id: tuple(
            _picture(documents, owner, place, claims, names, f"pages/{next(numbers):03d}.jpg")
            if place[0] in there
            else PagePicture(_words(place, names), message="its page cannot be shown any more.")
            for place, claims in _cited(turn).items()
        )
        for conversation in conversations
        for turn in conversation.turns
    }


def _picture(
    documents: DocumentService,
    owner: str,
    place: tuple[str, int],
    claims: Sequence[Claim],
    names: Mapping[str, str],
    name: str,
) -> PagePicture:
    document_id, number = place
    words = _words(place, names)
    try:
        return PagePicture(words, name, documents.pages.marked(owner, document_id, number, claims).data)
    except PdfQAError as error:
        return PagePicture(words, message=str(error))


def _words(place: tuple[str, int], names: Mapping[str, str]) -> str:
    document_id, number = place
    return f"{names.get(document_id, REMOVED)}, p. {number}"


def _cited(turn: Turn) -> dict[tuple[str, int], list[Claim]]:
    """Return the pages that an answer quotes or cites, as (document, page), each with what is quoted of it."""
    found: dict[tuple[str, int], list[Claim]] = {}
    lines = lines_of(turn.answer)
    for citation in () if turn.answer.refused else (*lines, *turn.answer.citations):
        claim = Claim(citation.span, citation.quote)
        found.setdefault((citation.span.document_id, citation.span.page), []).append(claim)
    return found


def _headed(conversation: Conversation) -> Conversation:
    """Return a conversation whose title is all of its first question where a cut one stands in the list."""
    first = conversation.turns[0].question if conversation.turns else ""
    cut = conversation.title.endswith("…") and first.startswith(conversation.title[:-1])
    return replace(conversation, title=first) if cut else conversation
