"""A study as a ZIP that another workspace takes: all that was rated and said, exactly, kept pages, and a table."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields, replace
from typing import IO, Any

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.ratings import rating_rows, ratings_blocks
from pdfqa_core.json_codec import encode_utf8, parse_json, restore
from pdfqa_core.storage.records import KeptPicture, StudyCopy
from pdfqa_core.whole_files import DAMAGE

FORMAT = 3
CONTENT, TABLE = "study.json", "ratings.csv"
PAGES = "kept_pages"
TYPES = {"image/jpeg": "jpg", "image/png": "png"}  # of pictures of pages, and how their files end
LEVEL = 1  # of compression: a tenth larger than 6, in a quarter of its time
LARGEST = 1_000_000_000  # bytes of the content, unpacked
_HINT = "Give a file that “pdfqa study export” wrote."


def write_study(copy: StudyCopy) -> bytes:
    """Return the ZIP of a study; the same study makes the same bytes."""
    pages = [(f"pages/{number}.{TYPES[one.mime]}", one) for number, one in enumerate(copy.pictures, start=1)]
    described = [{"file": name, "document_id": one.document_id, "page": one.page, "passage_id": one.passage_id,
                  "mime": one.mime} for name, one in pages]  # fmt: skip
    plain = {field.name: getattr(copy, field.name) for field in fields(copy) if field.name != "pictures"}
    content = encode_utf8({"format": FORMAT, **plain, PAGES: described})
    entries = [(CONTENT, [content]), (TABLE, _table(copy)), *((name, [one.image]) for name, one in pages)]
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive,
        ThreadPoolExecutor(1) as packer,
    ):
        steps: list[Future[Any]] = []  # what is written is packed while the next is made
        for name, blocks in entries:
            steps.append(file := packer.submit(archive.open, name, "w"))  # in the year 1980, each time
            steps += [packer.submit(_write, file, block) for block in blocks]
            steps.append(packer.submit(_close, file))
        for step in steps:
            step.result()
    return packed.getvalue()


def _table(copy: StudyCopy) -> Iterator[bytes]:
    """Yield the ratings as CSV; nothing is done before the first is asked for."""
    yield from ratings_blocks(rating_rows(copy.study, copy.turns, copy.ratings, copy.adjudications, copy.revisions))


def _write(file: Future[IO[bytes]], data: bytes) -> None:
    file.result().write(data)


def _close(file: Future[IO[bytes]]) -> None:
    file.result().close()


def read_study(data: bytes, name: str) -> StudyCopy:
    """Return the study in a ZIP; `name` is the file's in error messages.

    Raises UsageError: no such ZIP, damaged, of a newer version, or with a field missing.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.getinfo(CONTENT).file_size > LARGEST:
                raise UsageError(f"{name} is larger than any study: over {LARGEST / 1e9:.0f} GB unpacked.", _HINT)
            content = archive.read(CONTENT)
            found: Any = parse_json(content, f"{name}, {CONTENT}")
            pictures = _pictures(archive, found.get(PAGES), name) if isinstance(found, dict) else ()
    except DAMAGE as error:
        raise UsageError(f"{name} holds no study: it is another file, or damaged.", _HINT) from error
    if not isinstance(found, dict) or not isinstance(found.get("format"), int):
        raise UsageError(f"{name} holds no study.", _HINT)
    if found["format"] > FORMAT:
        raise UsageError(f"{name} was written by a newer version of the program.", "Update this one.")
    try:
        restored: StudyCopy = restore(StudyCopy, found)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{name} is not complete: {error}.", _HINT) from error
    return replace(restored, pictures=pictures)


def _pictures(archive: zipfile.ZipFile, described: Any, name: str) -> tuple[KeptPicture, ...]:
    """Return the pages that were kept of removed documents. Raises UsageError where they do not fit together."""
    found, size = [], 0
    for one in described or ():
        if not isinstance(one, dict) or one.get("mime") not in TYPES or not isinstance(one.get("page"), int):
            raise UsageError(f"{name} is not complete: a kept page is not described.", _HINT)
        size += archive.getinfo(str(one.get("file"))).file_size
        if size > LARGEST:
            raise UsageError(f"{name} holds more pages than any study: over {LARGEST / 1e9:.0f} GB.", _HINT)
        image = archive.read(str(one["file"]))
        place = str(one.get("document_id")), one["page"], str(one.get("passage_id"))
        found.append(KeptPicture(*place, one["mime"], image))
    return tuple(found)
