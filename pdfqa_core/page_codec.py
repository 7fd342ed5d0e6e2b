"""A page as bytes and back, exactly: compact JSON, compressed."""

from __future__ import annotations

import json
import zlib

from pdfqa_core.errors import StorageError
from pdfqa_core.types import Block, BlockKind, Box, Line, Page


def encode_page(page: Page) -> bytes:
    """Return the page as compressed JSON; floats keep every digit."""
    data = [
        page.document_id,
        page.number,
        page.label,
        page.width,
        page.height,
        page.text,
        [[line.start, line.end, *line.box] for line in page.lines],
        [[block.start, block.end, block.kind.value, block.level] for block in page.blocks],
        page.source,
        page.warnings,
        page.confidence,
    ]
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode("ascii"), level=6)


def decode_page(content: bytes) -> Page:
    """Return the page that `encode_page` wrote. Raises StorageError if the content is damaged."""
    try:
        data = json.loads(zlib.decompress(content))
        document_id, number, label, width, height, text, lines, blocks, source, warnings, *later = data
        return Page(
            document_id,
            number,
            label,
            width,
            height,
            text,
            tuple(Line(start, end, Box(*box)) for start, end, *box in lines),
            tuple(Block(start, end, BlockKind(kind), level) for start, end, kind, level in blocks),
            source,
            tuple(warnings),
            *later,  # the confidence, which pages stored by version 0.1 do not have
        )
    except (zlib.error, ValueError, TypeError) as error:
        raise StorageError(f"A stored page is damaged ({error}).", "Add the document again.") from error
