"""Small PDFs that want to break the program."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path


def locked(path: Path, text: str, password: str) -> Path:
    """Write a PDF with this text that opens with the password alone."""
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), encrypt=StandardEncryption(password, strength=128))
    canvas.drawString(70, 700, text)
    canvas.save()
    return path


def pdf(*objects: str, root: int = 1) -> bytes:
    """Return a PDF file of objects 1, 2, … with a cross-reference table."""
    out = b"%PDF-1.7\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root {root} 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return out


def stream(content: str) -> str:
    return f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"


FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"


def one_page(content: str, media_box: str = "0 0 595 842") -> bytes:
    """Return a PDF of one page; /F is Helvetica."""
    return pdf(
        CATALOG,
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [{media_box}] /Contents 4 0 R "
        "/Resources << /Font << /F 5 0 R >> >> >>",
        stream(content),
        FONT,
    )


def with_meanings(content: str, meant: Mapping[str, str]) -> bytes:
    """Return a PDF of one page; /F looks like Helvetica, and its letters mean others. /L is Helvetica."""
    pairs = "".join(f"<{ord(c):02X}> <{told.encode('utf-16-be').hex()}>\n" for c, told in meant.items())
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <FF> endcodespacerange\n{len(meant)} beginbfchar\n{pairs}endbfchar\n"
        "endcmap CMapName currentdict /CMap defineresource pop end end"
    )
    return pdf(
        CATALOG,
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /Font << /F 5 0 R /L 7 0 R >> >> >>",
        stream(content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        stream(cmap),
        FONT,
    )


def with_attached(content: str, *files: tuple[str, bytes], packed: bool = False) -> bytes:
    """Return a PDF of one page to which files are attached, by name and content; `packed`: deflated already."""
    numbers = [(5 + 2 * n, 6 + 2 * n) for n in range(len(files))]
    names = " ".join(f"({name}) {spec} 0 R" for (name, _), (spec, _) in zip(files, numbers, strict=True))
    objects = []
    for (name, data), (_, held) in zip(files, numbers, strict=True):
        deflated = (data if packed else zlib.compress(data)).hex() + ">"
        objects.append(f"<< /Type /Filespec /F ({name}) /UF ({name}) /EF << /F {held} 0 R >> >>")
        kind = f"<< /Type /EmbeddedFile /Filter [/ASCIIHexDecode /FlateDecode] /Length {len(deflated)} >>"
        objects.append(f"{kind}\nstream\n{deflated}\nendstream")
    return pdf(
        f"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [{names}] >> >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        f"/Resources << /Font << /F {FONT} >> >> >>",
        stream(content),
        *objects,
    )


def million_pages() -> bytes:
    return pdf(CATALOG, "<< /Type /Pages /Kids [3 0 R] /Count 1000000 >>", "<< /Type /Page /Parent 2 0 R >>")


def giant_media_box() -> bytes:
    return one_page("BT /F 12 Tf 72 720 Td (Text on a giant page) Tj ET", "0 0 99999999 99999999")


def self_drawing_form() -> bytes:
    return pdf(
        CATALOG,
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /XObject << /X 5 0 R >> >> >>",
        stream("/X Do"),
        "<< /Type /XObject /Subtype /Form /BBox [0 0 10 10] /Resources << /XObject << /X 5 0 R >> >> /Length 11 >>\n"
        "stream\n/X Do /X Do\nendstream",
    )


def endless_content(characters: int) -> str:
    """Return a page's content with so many characters; every line is different, since PDFium drops doubles."""
    return "".join(
        f"BT /F 1 Tf {10 + i % 3} {800 - 1.3 * (i % 600)} Td ({' '.join(f'w{i}x{k}' for k in range(30))}) Tj ET\n"
        for i in range(characters // 200)
    )


def endless_text(characters: int) -> bytes:
    """Return a PDF of one page with so many characters."""
    return one_page(endless_content(characters))


def pages_of(content: str, pages: int) -> bytes:
    """Return a PDF with so many pages of this content; /F is Helvetica."""
    kids = " ".join(f"{number} 0 R" for number in range(5, 5 + pages))
    resources = "<< /Font << /F 4 0 R >> >>"
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R /Resources {resources} >>"
    return pdf(
        CATALOG,
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        stream(content),
        FONT,
        *[page] * pages,
    )


def filter_bomb() -> bytes:
    """Return a PDF of 20 KB whose one page has 10 GB of content: a stream packed twice, drawn 100 times."""
    packed = zlib.compress(b"q Q " * 25_000_000, 9)
    content = zlib.compress(packed, 9).decode("latin-1")
    return pdf(
        CATALOG,
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents [{'4 0 R ' * 100}] >>",
        f"<< /Length {len(content)} /Filter [/FlateDecode /FlateDecode] >>\nstream\n{content}\nendstream",
    )


def looping_tree() -> bytes:
    """Return a PDF whose page tree leads back to itself two steps further down."""
    return pdf(
        CATALOG,
        "<< /Type /Pages /Kids [3 0 R] /Count 2 >>",
        "<< /Type /Pages /Parent 2 0 R /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Pages /Parent 3 0 R /Kids [2 0 R 3 0 R] /Count 2 >>",
    )
