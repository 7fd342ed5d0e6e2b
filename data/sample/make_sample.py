"""Set the sample report in type: `python data/sample/make_sample.py [FILE]` writes harbour-heat.pdf.

The same bytes every time: reportlab's invariant mode, standard fonts, no compression. The words are in
`harbour-heat.md`, the measurements with their chart and tables in `figures.py`; here is how the pages look.

The words are blocks parted by blank lines: `# heading`, `## heading`, `- list`, plain paragraphs, **bold**. A first
line `@name` says what else a block is: brief (the box on page ii), notice, terms (glossary), chart, monthly, costs
(with their captions), columns (a page with two columns starts), column (the next column), single (back to one).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figures import CELL, GREY, INK, NAVY, RULE, SAND, TEAL, TINT, chart, costs, monthly
from reportlab.lib.colors import Color, white
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    KeepTogether,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.tableofcontents import TableOfContents

WORDS = Path(__file__).with_name("harbour-heat.md")
TITLE = "Harbour Heat"
SUBTITLE = "Two winters of a sea-water heat pump in the town of Kestrel Bay"
AUTHOR = "Kestrel Bay Heat Works"
DATE = "June 2024"

WIDTH, HEIGHT = A4
MARGIN, TOP, BOTTOM = 98, 96, 92
MEASURE = WIDTH - 2 * MARGIN
GUTTER = 24
FRONT_MATTER = 2

UNITS = re.compile(r"(?<=\d) (?=(?:K|m|m³|kW|MWh|kg|Hz|dB\(A\)|°C)(?!\w))")

BODY = ParagraphStyle(
    "body",
    fontName="Times-Roman",
    fontSize=11,
    leading=15.5,
    textColor=INK,
    spaceAfter=8,
    allowWidows=0,
    allowOrphans=0,
)
H1 = ParagraphStyle(
    "h1",
    fontName="Helvetica-Bold",
    fontSize=18,
    leading=23,
    textColor=NAVY,
    spaceBefore=20,
    spaceAfter=8,
    keepWithNext=1,
)
H2 = ParagraphStyle("h2", H1, fontSize=12, leading=16, textColor=TEAL, spaceBefore=10, spaceAfter=4)
ITEM = ParagraphStyle("item", BODY, leftIndent=14, bulletIndent=2, spaceAfter=4)
CAPTION = ParagraphStyle(
    "caption", fontName="Helvetica", fontSize=9, leading=12.5, textColor=GREY, spaceBefore=4, spaceAfter=6
)
NOTE = ParagraphStyle("note", CAPTION, fontSize=8.5, leading=12)


class Report(BaseDocTemplate):
    """Collects the outline and the table of contents while the pages are laid out."""

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - reportlab's name
        """Enter a heading in the outline and the contents."""
        level = {"h1": 0, "h2": 1}.get(getattr(getattr(flowable, "style", None), "name", ""))
        if level is None or self.page <= FRONT_MATTER:
            return
        text = flowable.getPlainText()
        key = text.replace(" ", "-").lower()
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(text, key, level=level, closed=level == 0)
        self.notify("TOCEntry", (level, text, self.page - FRONT_MATTER, key))


def label(page: int) -> str:
    """Return the printed number of a physical page: i, ii, then 1, 2 and so on."""
    return "i" * page if page <= FRONT_MATTER else str(page - FRONT_MATTER)


def wave(canvas: Canvas, base: float, height: float, length: float, shift: float, colour: Color) -> None:
    """Fill the page below a sine curve."""
    canvas.setFillColor(colour)
    path = canvas.beginPath()
    path.moveTo(0, 0)
    step = 8
    for x in range(0, int(WIDTH) + step, step):
        path.lineTo(x, round(base + height * math.sin(2 * math.pi * (x + shift) / length), 2))
    path.lineTo(WIDTH + step, 0)
    path.close()
    canvas.drawPath(path, stroke=0, fill=1)


def cover(canvas: Canvas, _document: Report) -> None:
    """Draw the cover: title above, the harbour below."""
    canvas.saveState()
    canvas.setFillColor(white)
    wave(canvas, 300, 13, 330, 40, TINT)
    wave(canvas, 262, 16, 410, 190, SAND)
    wave(canvas, 206, 18, 480, 20, TEAL)
    wave(canvas, 140, 16, 400, 260, NAVY)
    canvas.setFillColor(TEAL)
    canvas.rect(MARGIN, 688, 44, 4, stroke=0, fill=1)
    canvas.setFont("Helvetica", 10)
    canvas.setFillColor(GREY)
    canvas.drawString(MARGIN, 706, "Monitoring report")
    canvas.setFont("Helvetica-Bold", 42)
    canvas.setFillColor(NAVY)
    canvas.drawString(MARGIN - 2, 628, TITLE)
    head, tail = SUBTITLE.split(" in the town", 1)
    canvas.setFont("Helvetica", 17)
    canvas.drawString(MARGIN, 590, head)
    canvas.drawString(MARGIN, 567, "in the town" + tail)
    canvas.setFont("Helvetica", 11)
    canvas.setFillColor(white)
    canvas.drawString(MARGIN, 76, AUTHOR)
    canvas.drawRightString(WIDTH - MARGIN, 76, DATE)
    canvas.restoreState()


def margins(canvas: Canvas, document: Report) -> None:
    """Draw the running header and footer."""
    canvas.saveState()
    canvas.setFont("Helvetica", 8.5)
    canvas.setFillColor(GREY)
    canvas.setStrokeColor(RULE)
    canvas.setLineWidth(0.5)
    canvas.drawString(MARGIN, HEIGHT - 58, TITLE)
    canvas.drawRightString(WIDTH - MARGIN, HEIGHT - 58, "Two winters of a sea-water heat pump")
    canvas.line(MARGIN, HEIGHT - 66, WIDTH - MARGIN, HEIGHT - 66)
    canvas.drawString(MARGIN, 52, f"{AUTHOR} · {DATE}")
    canvas.drawRightString(WIDTH - MARGIN, 52, label(document.page))
    canvas.restoreState()


def templates() -> list[PageTemplate]:
    """Return the three page forms: cover, one column, two columns below a heading."""
    bare = {"leftPadding": 0, "rightPadding": 0, "topPadding": 0, "bottomPadding": 0}
    tall = HEIGHT - TOP - BOTTOM
    head, column = 82, (MEASURE - GUTTER) / 2
    low = tall - head
    return [
        PageTemplate("cover", [Frame(MARGIN, BOTTOM, MEASURE, tall, **bare)], onPage=cover),
        PageTemplate("single", [Frame(MARGIN, BOTTOM, MEASURE, tall, **bare)], onPage=margins),
        PageTemplate(
            "columns",
            [
                Frame(MARGIN, BOTTOM + low, MEASURE, head, **bare),
                Frame(MARGIN, BOTTOM, column, low, **bare),
                Frame(MARGIN + column + GUTTER, BOTTOM, column, low, **bare),
            ],
            onPage=margins,
        ),
    ]


def read(source: str) -> list[tuple[str, str]]:
    """Return the (kind, words) of each block of the report's text."""
    blocks = []
    for part in re.split(r"\n\s*\n", source.strip()):
        kind, words = "p", part
        if part.startswith("@"):
            kind, _, words = part[1:].partition("\n")
        elif part.startswith("#"):
            marks, words = part.split(" ", 1)
            kind = f"h{len(marks)}"
        elif part.startswith("- "):
            kind = "list"
        blocks.append((kind.strip(), re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", words)))
    return blocks


def paragraph(words: str, style: ParagraphStyle = BODY, **options: Any) -> Paragraph:
    """Return a paragraph in which no line ends between a number and its unit."""
    return Paragraph(UNITS.sub("\N{NO-BREAK SPACE}", " ".join(words.split())), style, **options)


def items(words: str) -> list[str]:
    """Return the items of a list."""
    return words.removeprefix("- ").split("\n- ")


def bullets(words: str) -> list[Flowable]:
    """Return a bulleted list."""
    return [paragraph(item, ITEM, bulletText="•") for item in items(words)]


def glossary(words: str) -> list[Flowable]:
    """Return the terms with their meanings, one a row."""
    rows = [[paragraph(part) for part in item.split(" – ", 1)] for item in items(words)]
    style = [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), 0),
        ("RIGHTPADDING", (0, 0), (-1, -1), 0),
        ("TOPPADDING", (0, 0), (-1, -1), 1),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1),
    ]
    return [Table(rows, [106, MEASURE - 106], style=TableStyle(style))]


def brief(words: str) -> list[Flowable]:
    """Return the summary: a list on a tinted ground with a coloured edge."""
    heading = ParagraphStyle("small heading", H1, fontSize=12, leading=16, spaceBefore=0, spaceAfter=6)
    style = [
        ("BACKGROUND", (0, 0), (-1, -1), TINT),
        ("LINEBEFORE", (0, 0), (0, -1), 3, TEAL),
        ("LEFTPADDING", (0, 0), (-1, -1), 16),
        ("RIGHTPADDING", (0, 0), (-1, -1), 16),
        ("TOPPADDING", (0, 0), (-1, -1), 12),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 8),
    ]
    inner = [Paragraph("The report in brief", heading), *bullets(words)]
    return [Spacer(1, 18), Table([[inner]], [MEASURE], style=TableStyle(style)), Spacer(1, 10)]


def contents() -> list[Flowable]:
    """Return the table of contents below its heading."""
    first = ParagraphStyle(
        "toc1", CELL, fontName="Helvetica-Bold", fontSize=10, leading=13, textColor=NAVY, spaceBefore=3
    )
    second = ParagraphStyle("toc2", CELL, fontSize=9.5, leading=12.5, leftIndent=14)
    sides = ("TOPPADDING", "BOTTOMPADDING", "LEFTPADDING", "RIGHTPADDING")
    bare = TableStyle([(side, (0, 0), (-1, -1), 0) for side in sides])
    heading = ParagraphStyle("contents", H1, spaceBefore=0)
    return [
        Paragraph("Contents", heading),
        TableOfContents(dotsMinLevel=-1, levelStyles=[first, second], tableStyle=bare),
    ]


def captioned(words: str, table: Table) -> list[Flowable]:
    """Return a table that stays with the caption above it."""
    above = ParagraphStyle("caption above", CAPTION, spaceBefore=10)
    return [KeepTogether([paragraph(words, above), table, Spacer(1, 10)])]


def figure(words: str) -> list[Flowable]:
    """Return the chart with the caption below it."""
    return [KeepTogether([Spacer(1, 8), chart(MEASURE), paragraph(words, CAPTION), Spacer(1, 5)])]


BLOCKS: dict[str, Callable[[str], list[Flowable]]] = {
    "h1": lambda words: [Paragraph(words, H1)],
    "h2": lambda words: [Paragraph(words, H2)],
    "p": lambda words: [paragraph(words)],
    "list": lambda words: [*bullets(words), Spacer(1, 4)],
    "brief": brief,
    "notice": lambda words: [paragraph(words, NOTE), PageBreak()],
    "terms": glossary,
    "chart": figure,
    "monthly": lambda words: captioned(words, monthly(MEASURE)),
    "costs": lambda words: captioned(words, costs(MEASURE)),
    "columns": lambda _: [NextPageTemplate("columns"), PageBreak()],
    "column": lambda _: [FrameBreak()],
    "single": lambda _: [NextPageTemplate("single"), PageBreak()],
}


def main(path: Path) -> None:
    """Write the report to `path`."""
    story: list[Flowable] = [NextPageTemplate("single"), Spacer(1, 1), PageBreak(), *contents()]
    for kind, words in read(WORDS.read_text(encoding="utf-8")):
        story += BLOCKS[kind](words)
    report = Report(
        str(path),
        pagesize=A4,
        pageTemplates=templates(),
        title=f"{TITLE}: {SUBTITLE[0].lower()}{SUBTITLE[1:]}",
        author=AUTHOR,
        subject="Monitoring report, winters 2022–23 and 2023–24",
        creator="data/sample/make_sample.py",
        keywords=["heat pump", "sea water", "heat network"],
        lang="en-GB",
        displayDocTitle=True,
        invariant=1,
        pageCompression=0,
    )

    def labelled(*args: Any, **kwargs: Any) -> Canvas:
        canvas = Canvas(*args, **kwargs)
        canvas.addPageLabel(0, style="ROMAN_LOWER", start=1)
        canvas.addPageLabel(FRONT_MATTER, style="ARABIC", start=1)
        return canvas

    report.multiBuild(story, canvasmaker=labelled)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("harbour-heat.pdf"))
