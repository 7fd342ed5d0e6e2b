"""Draw what each extractor makes of a page: `python scripts/extraction_pictures.py [PDF PAGE NAME]`.

Writes docs/extraction-NAME.png, with the page once for each extractor side by side; where only one finds something, it
is docs/extraction-NAME-EXTRACTOR.png. Boxes are the blocks of text, their colour the kind, their number the
order in which they are read; thin boxes are the cells of a table. Without arguments: both pages of
docs/difficult.pdf (`text` and `scan`). PDFs of unknown origin are no good here: the page is read in this process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PIL import Image, ImageChops, ImageDraw, ImageFont  # noqa: E402

from pdfqa_core.extraction import ExtractionOptions, extractors  # noqa: E402
from pdfqa_core.types import Block, BlockKind, Box, Page  # noqa: E402

DOCS = ROOT / "docs"
TOGETHER, ALONE = 1440, 960  # pixels wide
MARGIN, GAP = 16, 26
PAPER, INK, QUIET = "#F4F6F8", "#1C242A", "#5B6B76"
COLOURS = {
    BlockKind.HEADING: "#1A56C4",
    BlockKind.TEXT: "#2E7D32",
    BlockKind.LIST: "#00838F",
    BlockKind.CAPTION: "#E07B00",
    BlockKind.TABLE: "#7B1FA2",
    BlockKind.FOOTNOTE: "#795548",
    BlockKind.HEADER: "#78868F",
    BlockKind.FOOTER: "#78868F",
    BlockKind.HIDDEN: "#D32F2F",
}
MEANINGS = {
    "direct": "text layer, geometry of the characters",
    "pdfplumber": "text layer, pdfplumber's lines from top to bottom",
    "visual": "picture of the page, OCR",
}


@dataclass(frozen=True)
class Reader:
    """What one extractor made of the page."""

    name: str
    page: Page
    seconds: float


@dataclass(frozen=True)
class Mark:
    """A number beside a box; its middle in pixels."""

    x: float
    y: float
    number: int
    colour: str


def font(size: float, *, bold: bool = False) -> Any:
    """Return a font of this size in pixels: reportlab's, or Pillow's own without it."""
    try:
        import reportlab

        file = Path(reportlab.__file__).parent / "fonts" / ("VeraBd.ttf" if bold else "Vera.ttf")
        return ImageFont.truetype(str(file), round(size))
    except (ImportError, OSError):
        return ImageFont.load_default(size)


def single(path: Path, number: int, target: Path) -> Path:
    """Write page `number` of `path` as a PDF of its own."""
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document, pypdfium2.PdfDocument.new() as copy:
        if not 1 <= number <= len(document):
            sys.exit(f"{path.name} has no page {number}; it has {len(document)}.")
        copy.import_pages(document, [number - 1])
        copy.save(target)
    return target


def read(name: str, path: Path) -> Reader:
    """Read a PDF of one page twice and keep the better time: models are loaded by then."""
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        (page,) = extractors.get(name)(ExtractionOptions(visual_pages="all")).extract(path, "picture")
        taken.append(time.perf_counter() - began)
    return Reader(name, page, min(taken))


def pieces(page: Page, block: Block) -> Iterator[Box]:
    """Yield the parts of a block that hang together: a paragraph may go on in the next column."""
    boxes = [x.box for x in page.lines if block.start <= x.start and x.end <= block.end]
    whole: Box | None = None
    for box in boxes:
        if whole is not None and (block.kind in (BlockKind.TABLE, BlockKind.CAPTION) or follows(whole, box)):
            whole = Box(
                min(whole.x0, box.x0), min(whole.top, box.top), max(whole.x1, box.x1), max(whole.bottom, box.bottom)
            )
        else:
            if whole is not None:
                yield whole
            whole = box
    if whole is not None:
        yield whole


def follows(part: Box, box: Box) -> bool:
    """Return whether a line belongs to a part of its block: near it, above, below or within."""
    beside = max(box.x0 - part.x1, part.x0 - box.x1)
    away = max(box.top - part.bottom, part.top - box.bottom)
    return beside < 12 and away < 60


def apart(marks: Sequence[Mark], radius: float) -> list[Mark]:
    """Return the marks moved to the left where they would cover one above them."""
    found: list[Mark] = []
    for mark in sorted(marks, key=lambda m: m.y):
        x = mark.x
        while any(abs(x - m.x) < 2 * radius and abs(mark.y - m.y) < 1.6 * radius for m in found) and x > 3 * radius:
            x -= 2 * radius + 1
        found.append(replace(mark, x=x))
    return found


def mix(colour: str, share: float) -> tuple[int, int, int]:
    """Return a colour thinned with white; `share` 1 is the colour itself."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    red, green, blue = (round(255 - share * (255 - part)) for part in parts)
    return red, green, blue


def panel(shown: Image.Image, reader: Reader) -> Image.Image:
    """Return the page with its blocks; `shown` is the image of the page, drawn in the size of the panel."""
    page = reader.page
    image = Image.blend(shown.convert("RGB"), Image.new("RGB", shown.size, "white"), 0.15)
    image = image.point(lambda value: min(255, round(1.08 * value)))  # the noise of a scan makes large files
    scale = image.width / page.width
    tint = Image.new("RGB", image.size, "white")
    tints, draw = ImageDraw.Draw(tint), ImageDraw.Draw(image)
    pad = 2.0

    def place(box: Box) -> tuple[float, float, float, float]:
        return (box.x0 - pad) * scale, (box.top - pad) * scale, (box.x1 + pad) * scale, (box.bottom + pad) * scale

    for block in page.blocks:
        for box in pieces(page, block):
            tints.rectangle(place(box), fill=mix(COLOURS[block.kind], 0.16))
    image.paste(ImageChops.multiply(image, tint))
    radius = max(8.5, image.width / 64)
    marks: list[Mark] = []
    for number, block in enumerate(page.blocks, 1):
        colour = COLOURS[block.kind]
        if block.kind is BlockKind.TABLE and page.text[block.start] == "|":
            for line in page.lines:
                if block.start <= line.start and line.end <= block.end:
                    draw.rectangle(tuple(v * scale for v in line.box), outline=mix(colour, 0.6), width=1)
        for box in pieces(page, block):
            x0, top, x1, bottom = place(box)
            draw.rectangle((x0, top, x1, bottom), outline=colour, width=2)
            middle = (top + bottom) / 2 if bottom - top < 2.5 * radius else top + radius
            marks.append(Mark(max(radius + 1, x0 - radius), middle, number, colour))
    for mark in apart(marks, radius):
        x, y = mark.x, mark.y
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=mark.colour, outline="white")
        draw.text((x, y), str(mark.number), fill="white", font=font(radius * 1.15, bold=True), anchor="mm")
    ImageDraw.Draw(image).rectangle((0, 0, image.width - 1, image.height - 1), outline="#C3CCD2")
    if not page.blocks:
        x, y, face = image.width / 2, image.height / 2, font(radius * 2, bold=True)
        words = "no text found"
        wide, tall = draw.textlength(words, font=face) / 2 + 2 * radius, 2.2 * radius
        draw.rounded_rectangle((x - wide, y - tall, x + wide, y + tall), radius, fill="white", outline="#C3CCD2")
        draw.text((x, y), words, fill=QUIET, font=face, anchor="mm")
    return image


def legend(draw: ImageDraw.ImageDraw, x: float, y: float, kinds: Sequence[BlockKind]) -> None:
    """Draw the meaning of the colours in a row."""
    for kind in kinds:
        draw.rectangle((x, y - 7, x + 18, y + 7), fill=mix(COLOURS[kind], 0.2), outline=COLOURS[kind], width=2)
        words = "header, footer" if kind is BlockKind.HEADER else kind.value
        draw.text((x + 25, y), words, fill=INK, font=font(14), anchor="lm")
        x += 25 + draw.textlength(words, font=font(14)) + 22
    draw.text((x, y), "number: order of reading", fill=QUIET, font=font(14), anchor="lm")


def sheet(path: Path, readers: Sequence[Reader], width: int) -> Image.Image:
    """Return the panels of some extractors side by side under their names, with the legend below."""
    import pypdfium2

    panel_width = (width - 2 * MARGIN - GAP * (len(readers) - 1)) // len(readers)
    with pypdfium2.PdfDocument(path) as document:
        page = document[0]
        shown = page.render(scale=2 * panel_width / page.get_width()).to_pil()
    height = round(panel_width * shown.height / shown.width)
    shown = shown.resize((panel_width, height), Image.Resampling.LANCZOS)
    head, foot = 62, 44
    image = Image.new("RGB", (width, head + height + foot), PAPER)
    draw = ImageDraw.Draw(image)
    for number, reader in enumerate(readers):
        x = MARGIN + number * (panel_width + GAP)
        blocks = len(reader.page.blocks)
        facts = f"{reader.seconds:.{1 if reader.seconds >= 1 else 3}f} s · {blocks} block{'' if blocks == 1 else 's'}"
        draw.text((x, 20), reader.name, fill=INK, font=font(19, bold=True), anchor="lm")
        draw.text((x + panel_width, 20), facts, fill=INK, font=font(15), anchor="rm")
        draw.text((x, 44), MEANINGS.get(reader.name, ""), fill=QUIET, font=font(14), anchor="lm")
        image.paste(panel(shown, reader), (x, head))
    kinds = {block.kind for reader in readers for block in reader.page.blocks}
    if BlockKind.FOOTER in kinds:
        kinds = kinds - {BlockKind.FOOTER} | {BlockKind.HEADER}
    legend(draw, MARGIN, head + height + foot / 2, [kind for kind in COLOURS if kind in kinds])
    return image


def save(image: Image.Image, name: str) -> None:
    """Write an image of few colours into the docs."""
    target = DOCS / f"extraction-{name}.png"
    image.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"docs/{target.name}: {image.width} x {image.height}, {target.stat().st_size // 1024} KB")


def draw_page(path: Path, number: int, name: str) -> None:
    """Read a page with every extractor and write its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        page = single(path, number, Path(folder) / "page.pdf")
        readers = [read(extractor, page) for extractor in extractors.names()]
        finding = [reader for reader in readers if reader.page.blocks]
        if len(finding) == 1:
            save(sheet(page, finding, ALONE), f"{name}-{finding[0].name}")
        else:
            save(sheet(page, readers, TOGETHER), name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", nargs="?", type=Path, help="PDF; without it both pages of docs/difficult.pdf")
    parser.add_argument("page", nargs="?", type=int, default=1, help="1-based number of the page")
    parser.add_argument("name", nargs="?", default="page", help="what the pictures are called")
    options = parser.parse_args()
    if options.pdf is not None:
        draw_page(options.pdf, options.page, options.name)
        return
    for number, name in ((1, "text"), (2, "scan")):
        draw_page(DOCS / "difficult.pdf", number, name)


if __name__ == "__main__":
    main()
