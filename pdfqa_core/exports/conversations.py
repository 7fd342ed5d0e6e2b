"""Conversations as Markdown and as plain text for people to read, and what other forms share with them.

In Markdown the words of questions, answers and PDFs are escaped: none of them turns into a link, an image, a heading
or HTML.
"""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdfqa_core.exports.citing import Source, bibtex, csl
from pdfqa_core.exports.table import html_page
from pdfqa_core.reading.checking import with_markers
from pdfqa_core.reading.outcomes import (
    CAUTION,
    MAY_STAND,
    OR_HERE,
    lead_of,
    lines_of,
    notes_below,
    nothing_words,
    own_words,
)
from pdfqa_core.reading.tables import tables
from pdfqa_core.types import Answer, CheckedSentence, Citation, Conversation, Outcome, Support, Thumb, Turn

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph


Names = Mapping[str, str]  # file names by document id

REMOVED = "a document that was removed"
CITED = "Documents cited"
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&$@^]")
_INDENT = re.compile(r"^[^\S\n]+", re.MULTILINE)  # four spaces would begin a block of code
_LINE_START = re.compile(r"^(\d*)(?=[#+=:.)-])", re.MULTILINE)
_ADDRESS = re.compile(r"(?<=[a-z])(?=://)|(?<=\bwww)(?=\.)", re.IGNORECASE)  # GitHub makes links of bare addresses


_ROW = re.compile(r"\|(.*)\|")
_BORDER = re.compile(r"(?<!\\)\|")
_EMPTY = re.compile(r"\s*(?:-{3,})?\s*")  # a cell without words, or below the names of the columns

VERDICTS = {Support.SUPPORTED: "the passage says this", Support.NOT_FOUND: "not found in the passages"}
THUMBS = {Thumb.UP: "The one who asked found this answer good.", Thumb.DOWN: "The one who asked found this answer bad."}
_SEVERAL = {Support.SUPPORTED: "the passages say {}", Support.NOT_FOUND: "{} not found in the passages"}


@dataclass(frozen=True, slots=True)
class Footnote:
    """What stands behind a marker of an answer: file, page or pages, the quoted words, how far they say it.

    `columns` are the names of the columns of a table whose row is quoted.
    """

    number: int
    filename: str
    pages: str
    quote: str
    verdict: str = ""
    columns: str = ""

    @property
    def place(self) -> str:
        """File and page: "report.pdf, p. 7"."""
        return f"{self.filename}, p. {self.pages}"

    @property
    def quoted(self) -> str:
        """The quote in its marks; of a row of a table “Basic | $ 30” under “Plan | Fee”."""
        return f"“{self.quote}”" + (f" under “{self.columns}”" if self.columns else "")

    def source(self) -> str:
        """Return place and quote: "report.pdf, p. 7: “quote”"."""
        return f"{self.place}: {self.quoted}" if self.quote else self.place


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page that an answer cites as a JPEG with the cited lines marked; without `data`, `message` says why.

    `name` is that of its file beside a Markdown file.
    """

    place: str
    name: str = ""
    data: bytes = b""
    message: str = ""


Pictures = Mapping[str, Sequence[PagePicture]]  # by turn id


def conversations_markdown(
    conversations: Iterable[Conversation],
    names: Names,
    pictures: Pictures | None = None,
    sources: Sequence[Source] = (),
) -> bytes:
    """Return conversations as one Markdown text in UTF-8, `names` being the file names by document id.

    Questions and answers with their markers come with the file, the page and the quote that each marker stands for, and
    where there are pictures with those. The documents that are cited stand at the end (`sources`).
    """
    texts = [_conversation(conversation, names, pictures or {}) for conversation in conversations]
    if sources:
        texts += [f"## {CITED}", "\n".join(f"- {_one_line(source.words)}" for source in sources)]
    return "\n\n".join(texts).encode("utf-8", errors="replace") + b"\n"


def markdown_zip(
    conversations: Iterable[Conversation], names: Names, pictures: Pictures, sources: Sequence[Source] = ()
) -> bytes:
    """Return what `conversations_markdown` does with its pictures, as a ZIP file.

    Sources that lack nothing come as BibTeX and as CSL-JSON too.
    """
    files = {"conversation.md": conversations_markdown(conversations, names, pictures, sources)}
    if whole := [source for source in sources if not source.missing]:
        files |= {"references.bib": bibtex(whole).encode(), "references.json": csl(whole).encode()}
    files |= {one.name: one.data for pages in pictures.values() for one in pages if one.data}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, data in files.items():
            kind = zipfile.ZIP_STORED if name.endswith(".jpg") else zipfile.ZIP_DEFLATED
            packed.writestr(name, data, kind)
    return buffer.getvalue()


def facts(conversation: Conversation, names: Names, escaped: Callable[[str], str] = str) -> str:
    """Return when a conversation began and what it is about: "2026-03-01, 2 questions about report.pdf"."""
    asked = "1 question" if len(conversation.turns) == 1 else f"{len(conversation.turns)} questions"
    about = ", ".join(escaped(names.get(one, REMOVED)) for one in conversation.document_ids) or "all documents"
    return f"{conversation.created_at:%Y-%m-%d}, {asked} about {about}"


def turn_text(turn: Turn, names: Names) -> str:
    """Return an answer with its markers and, below it, "[1] report.pdf, p. 7: “quote”" for each.

    Where it is not sure, the lines that match the question best stand with it; where nothing was found, the places of
    the nearest passages too.
    """
    return _with_references(turn.answer, names, str, "")


def turn_markdown(turn: Turn, names: Names) -> str:
    """Return what `turn_text` does as Markdown: the list of references is one, the texts are escaped."""
    return _with_references(turn.answer, names, escape, "- ")


def _with_references(answer: Answer, names: Names, escaped: Callable[[str], str], bullet: str) -> str:
    parts, listed = [escaped(part) for part in paragraphs(answer, names)], references(answer, names)
    if answer.refused and listed:
        parts.append("The nearest passages:")
    parts.append("\n".join(bullet + escaped(line) for line in listed))
    return "\n\n".join(part for part in parts if part)


def paragraphs(answer: Answer, names: Names) -> list[str]:
    """Return an answer with its markers, and with what stands before and behind it where it is not sure."""
    before, behind = around(answer, names)
    return [part for part in (*before, answer_text(answer), *behind) if part]


def around(answer: Answer, names: Names) -> tuple[list[str], list[str]]:
    """Return the paragraphs before and behind an answer's text: the lines that match best, and how to take them."""
    quoted = [f"{note.quoted} ({note.place})" for note in lines_notes(answer, names)]
    if answer.outcome is Outcome.PERHAPS:
        before = [f"{lead} {lines}" for lead, lines in zip((MAY_STAND, OR_HERE), quoted, strict=False)]
        return [*before, *([lead_of(answer)] if before and own_words(answer) else [])], [CAUTION]
    return [], [f"Closest: {lines}" for lines in quoted[:1]]


def lines_notes(answer: Answer, names: Names) -> tuple[Footnote, ...]:
    """Return the lines that match a question best with their places, the better ones first; none of a sure answer."""
    return tuple(footnote(lines, answer, names) for lines in lines_of(answer))


def answer_text(answer: Answer) -> str:
    """Return the reader's words with their markers; where nothing was found, the words shown in their place."""
    if answer.refused:
        return nothing_words(answer)[0]
    return with_markers(answer) if own_words(answer) else ""


def references(answer: Answer, names: Names) -> list[str]:
    """Return one line for each passage that is quoted; where nothing was found, for each of the nearest passages."""
    return list(dict.fromkeys(f"[{note.number}] {note.source()}" for note in footnotes(answer, names)))


def footnotes(answer: Answer, names: Names) -> tuple[Footnote, ...]:
    """Return what stands behind each marker of an answer; where nothing was found, the places of nearest passages."""
    if answer.refused:
        return tuple(
            Footnote(hit.rank, names.get(hit.passage.document_id, REMOVED), _pages(hit.passage.pages), "")
            for hit in answer.hits
        )
    cited = sorted(answer.citations, key=lambda c: c.end) if own_words(answer) else ()
    return tuple(dict.fromkeys(footnote(one, answer, names) for one in cited))


def footnote(citation: Citation, answer: Answer, names: Names) -> Footnote:
    """Return what stands behind the marker of one citation."""
    support = next((one.support for one in marked_sentences(answer) if one.end == citation.end), None)
    columns = _columns(citation, answer)
    return Footnote(
        citation.number,
        names.get(citation.span.document_id, REMOVED),
        str(citation.span.page),
        quote_words(citation.quote, whole=bool(columns)),
        VERDICTS.get(support, "") if support else "",
        columns,
    )


def marked_sentences(answer: Answer) -> tuple[CheckedSentence, ...]:
    """Return the sentences that carry a mark of how far the passages say them: not quotes, nor those said in part.

    Of an answer that is not sure only those that stand nowhere: a ✓ would speak for it.
    """
    unmarked = {Support.PARTLY, *((Support.SUPPORTED,) if answer.outcome is Outcome.PERHAPS else ())}
    return tuple(one for one in answer.sentences if answer.reader != "extractive" and one.support not in unmarked)


def _columns(citation: Citation, answer: Answer) -> str:
    """Return the names of the columns of the table whose rows alone are quoted; empty where none are."""
    quoted = {line.strip() for line in citation.quote.splitlines() if line.strip()}
    if not quoted or not all(map(_ROW.fullmatch, quoted)):
        return ""
    text = next((hit.passage.text for hit in answer.hits if hit.rank == citation.number), "")
    for table in tables(text):
        names = text[slice(*table.head[0])].strip()
        if names not in quoted and any(text[row.start : row.end].strip() in quoted for row in table.rows):
            return quote_words(names, whole=True) if any(table.columns) else ""
    return ""


def _pages(pages: tuple[int, ...]) -> str:
    return f"{pages[0]}" if len(pages) == 1 else f"{pages[0]}–{pages[-1]}"


def quote_words(quote: str, *, whole: bool = False) -> str:
    """Return a quote in one line; of rows of a table the cells, parted by bars, of `whole` rows the empty ones too."""
    return " ".join(quote_lines(quote, whole=whole))


def quote_lines(quote: str, *, whole: bool = False) -> list[str]:
    """Return what `quote_words` does line by line: a heading, a paragraph, an item of a list or a row each."""
    lines = []
    for line in quote.splitlines():
        row = _ROW.fullmatch(line.strip())
        if row is None:
            lines.append(line)
        elif (cells := [cell.strip() for cell in _BORDER.split(row[1])]) and not all(map(_EMPTY.fullmatch, cells)):
            kept = [cell for cell in cells if whole or not _EMPTY.fullmatch(cell)]
            lines.append(" | ".join(kept).replace("\\|", "|"))
    return [" ".join(line.split()) for line in lines if line.strip()]


def thumb_words(turn: Turn) -> str:
    """Return what the one who asked thought of the answer; empty where they did not say."""
    return THUMBS.get(turn.thumb, "")


def summary(answer: Answer) -> str:
    """Return how much of an answer is supported and who wrote it, as one sentence; empty where nothing is known."""
    facts = [
        support_counts(answer),
        unfound_numbers(answer),
        "stopped before its end" if answer.stopped else "",
        written_by(answer),
    ]
    told = "; ".join(fact for fact in facts if fact)
    return f"{told[0].upper()}{told[1:]}." if told and not answer.refused else ""


def written_by(answer: Answer) -> str:
    """Return who wrote an answer, in words; empty where that is not known."""
    if answer.reader == "extractive":
        return "quoted from the pages, not written by a model"
    return f"written by {answer.model or 'a model'}" if answer.model or answer.reader else ""


def marked_text(answer: Answer) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return what `answer_text` does in pieces, each with the numbers of the markers behind it."""
    if answer.refused:
        return ((answer_text(answer), ()),)
    pieces, start = [], 0
    text = own_words(answer)
    for end in sorted({*(citation.end for citation in answer.citations), len(text)}) if text else ():
        numbers = sorted({citation.number for citation in answer.citations if citation.end == end})
        if answer.text[start:end] or numbers:
            pieces.append((answer.text[start:end], tuple(numbers)))
        start = end
    return tuple(pieces)


def support_counts(answer: Answer) -> str:
    """Return how many sentences the passages say, in words: "3 sentences: the passages say 2, 1 not found …".

    Nothing of an answer that is not sure, whose lines are to be read first.
    """
    marked, count = marked_sentences(answer), len(answer.sentences)
    if not marked or answer.outcome is not Outcome.ANSWER:
        return ""
    if count == 1:
        return f"1 sentence: {VERDICTS[marked[0].support]}"
    counts = Counter(sentence.support for sentence in marked)
    parts = [words.format(counts[support]) for support, words in _SEVERAL.items() if counts[support]]
    return f"{count} sentences: {', '.join(parts)}"


def unfound_numbers(answer: Answer) -> str:
    """Return how many numbers of the answer stand in no cited passage, in words; empty if all do."""
    count = sum(len(sentence.numbers) for sentence in answer.sentences)
    return f"{count} {'number' if count == 1 else 'numbers'} not found in the cited passages" if count else ""


def escape(text: str) -> str:
    """Return `text` so that Markdown (CommonMark, with GitHub's additions) shows exactly its characters."""
    text = _INDENT.sub("", _SPECIAL.sub(r"\\\g<0>", text))
    return _ADDRESS.sub(r"\\", _LINE_START.sub(r"\1\\", text))


def _one_line(text: str) -> str:
    return escape(" ".join(text.split()))


def _conversation(conversation: Conversation, names: Names, pictures: Pictures) -> str:
    parts = [
        f"# {_one_line(conversation.title) or 'Conversation'}",
        facts(conversation, names, _one_line),
        *(_turn(turn, names, pictures.get(turn.id, ())) for turn in conversation.turns),
    ]
    return "\n\n".join(parts)


def _note(note: Footnote) -> str:
    return escape(note.source()) + (f" ({note.verdict})" if note.verdict else "")


def _picture(picture: PagePicture) -> str:
    if not picture.data:
        return f"*{_one_line(f'{picture.place}: {picture.message}')}*"
    return f"![{_one_line(picture.place)}]({picture.name})"


def _turn(turn: Turn, names: Names, pictures: Sequence[PagePicture]) -> str:
    answer = turn.answer
    parts = [f"## {turn.number}. {_one_line(turn.question)}"]
    if turn.standalone_question != turn.question:
        parts.append(f"Searched for: “{_one_line(turn.standalone_question)}”")
    if answer.rewriting:
        parts.append(f"*{_one_line(answer.rewriting)}*")
    before, behind = around(answer, names)
    said = escape(answer_text(answer)) or ("" if before else "No answer.")
    parts += [*map(_one_line, before), f"**Not answered.** {said}" if answer.refused else said]
    parts += map(_one_line, behind)
    if listed := footnotes(answer, names):
        parts.append("The nearest passages:" if answer.refused else "Sources:")
        parts.append("\n".join(f"- {escape(f'[{note.number}] ')}{_note(note)}" for note in listed))
    parts += [_picture(picture) for picture in pictures]
    if told := summary(answer):
        parts.append(f"*{_one_line(told)}*")
    parts += [f"*{words}*" for words in [thumb_words(turn)] if words]
    parts += [f"*{_one_line(note)}*" for note in notes_below(answer)]
    return "\n\n".join(part for part in parts if part)


# ----------------------------------------------------------------------------------------------------
# Conversations as one HTML file that needs no other: pictures of the cited pages are part of it.


def conversations_html(
    conversations: Sequence[Conversation], names: Names, pictures: Pictures, sources: Sequence[Source] = ()
) -> bytes:
    """Return the conversations as a UTF-8 HTML file; texts are escaped, and the page may load nothing."""
    title = conversations[0].title if len(conversations) == 1 else "Conversations"
    shown = [
        (one.title or "Conversation", facts(one, names), [_turn_html(turn, names, pictures) for turn in one.turns])
        for one in conversations
    ]
    whole = [source for source in sources if not source.missing]
    return html_page(
        "conversation",
        title=title or "Conversation",
        conversations=shown,
        cited=CITED,
        sources=[source.words for source in sources],
        bibtex=bibtex(whole),
        csl=csl(whole) if whole else "",
    )


def _turn_html(turn: Turn, names: Names, pictures: Pictures) -> dict[str, object]:
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


# ----------------------------------------------------------------------------------------------------
# Conversations as a Word file: questions as headings, answers with their sources, pictures of the cited pages.

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
