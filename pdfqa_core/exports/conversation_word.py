"""Conversations as a Word file: questions as headings, answers with their sources, pictures of the cited pages."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pdfqa_core.exports.citing import Source
from pdfqa_core.exports.conversations import (
    CITED,
    Footnote,
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
from pdfqa_core.reading.outcomes import notes_below
from pdfqa_core.types import Conversation, Turn

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

ACROSS = 3  # pictures beside each other
_WIDTH = 5.2  # centimetres of a picture
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def conversations_word(
    conversations: Sequence[Conversation], names: Names, pictures: Pictures, sources: Sequence[Source] = ()
) -> bytes:
    """Return the conversations as a .docx file."""
    import docx
    from docx.shared import Cm

    document = docx.Document()
    for section in document.sections:
        section.left_margin = section.right_margin = Cm(2.2)
    title = conversations[0].title if len(conversations) == 1 else "Conversations"
    document.core_properties.title = _clean(title)[:255]  # as long as Word allows
    document.core_properties.author = ""
    document.core_properties.comments = ""
    for place, conversation in enumerate(conversations):
        heading = document.add_heading(_clean(conversation.title) or "Conversation", 1)
        heading.paragraph_format.page_break_before = place > 0
        _small(document.add_paragraph(), facts(conversation, names))
        for turn in conversation.turns:
            _add_turn(document, turn, names, pictures.get(turn.id, ()))
    if sources:
        document.add_heading(CITED, 2)
    for source in sources:
        document.add_paragraph(_clean(source.words), style="List Bullet")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _small(paragraph: Paragraph, text: str) -> None:
    """Add text in small grey letters."""
    from docx.shared import Pt, RGBColor

    run = paragraph.add_run(_clean(text))
    run.font.size = Pt(9)
    run.font.color.rgb = RGBColor(0x61, 0x5C, 0x55)


def _add_turn(document: Document, turn: Turn, names: Names, pictures: Sequence[PagePicture]) -> None:
    answer = turn.answer
    document.add_heading(_clean(f"{turn.number}. {turn.question}"), 2)
    if turn.standalone_question != turn.question:
        _small(document.add_paragraph(), f"Searched for: “{turn.standalone_question}”")
    if answer.rewriting:
        _small(document.add_paragraph(), answer.rewriting)
    before, behind = around(answer, names)
    for words in before:
        document.add_paragraph(_clean(words))
    if pieces := marked_text(answer) or (() if before else (("No answer.", ()),)):
        _add_said(document.add_paragraph("Not answered. " if answer.refused else ""), pieces)
    for words in behind:
        document.add_paragraph(_clean(words))
    if notes := footnotes(answer, names):
        _small(document.add_paragraph(), "The nearest passages" if answer.refused else "Sources")
        for note in notes:
            _add_note(document.add_paragraph(), note)
    _add_pictures(document, pictures)
    for line in (summary(answer), thumb_words(turn), *notes_below(answer)):
        if line:
            _small(document.add_paragraph(), line)


def _add_said(paragraph: Paragraph, pieces: Sequence[tuple[str, tuple[int, ...]]]) -> None:
    """Add an answer with its markers; what stands in the paragraph already becomes bold."""
    for run in paragraph.runs:
        run.bold = True
    for text, numbers in pieces:
        paragraph.add_run(_clean(text))
        for number in numbers:
            paragraph.add_run(f"[{number}]").font.superscript = True


def _add_note(paragraph: Paragraph, note: Footnote) -> None:
    from docx.shared import Cm, Pt

    paragraph.paragraph_format.left_indent = Cm(0.8)
    paragraph.paragraph_format.first_line_indent = Cm(-0.8)
    paragraph.paragraph_format.space_after = Pt(3)
    paragraph.add_run(f"[{note.number}] ").bold = True
    paragraph.add_run(_clean(note.source()))
    if note.verdict:
        _small(paragraph, f" ({note.verdict})")


def _add_pictures(document: Document, pictures: Sequence[PagePicture]) -> None:
    """Add the pictures in rows, each above the name of its page, and a line for each that cannot be shown."""
    from docx.shared import Cm

    drawn = [picture for picture in pictures if picture.data]
    if drawn:
        table = document.add_table(rows=0, cols=ACROSS)
        for first in range(0, len(drawn), ACROSS):
            cells = table.add_row().cells
            for cell, picture in zip(cells, drawn[first : first + ACROSS], strict=False):
                shape = cell.paragraphs[0].add_run().add_picture(io.BytesIO(picture.data), width=Cm(_WIDTH))
                shape._inline.docPr.set("descr", _clean(f"{picture.place}, the cited lines marked"))
                _small(cell.add_paragraph(), picture.place)
    for picture in pictures:
        if not picture.data:
            _small(document.add_paragraph(), f"{picture.place}: {picture.message}")
