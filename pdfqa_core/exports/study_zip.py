"""A study as a ZIP that another workspace takes: all that was rated and said, exactly, kept pages, and a table."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import IO, Any

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.ratings import rating_rows, ratings_blocks
from pdfqa_core.extraction.process.outside import read_file, unpacked
from pdfqa_core.json_codec import checked, encode_utf8, parse_json
from pdfqa_core.storage.records import KeptPicture, StudyCopy

FORMAT = 3
CONTENT, TABLE = "study.json", "ratings.csv"
PAGES = "kept_pages"
TYPES = {"image/jpeg": "jpg", "image/png": "png"}  # of pictures of pages, and how their files end
LEVEL = 1  # of compression: a tenth larger than 6, in a quarter of its time
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


def read_study(source: Path | bytes, name: str) -> StudyCopy:
    """Return the study in a ZIP; `name` is the file's in error messages.

    Raises UsageError: no such ZIP, damaged, larger than it may be, of a newer version, or a field that is missing or
    of another kind.
    """
    with unpacked(source, name, of="study", hint=_HINT) as folder:
        if not (folder / CONTENT).is_file():
            raise UsageError(f"{name} holds no study: it is another file, or damaged.", _HINT)
        found: Any = parse_json(read_file(folder / CONTENT), f"{name}, {CONTENT}")
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise UsageError(f"{name} holds no study.", _HINT)
        if found["format"] > FORMAT:
            raise UsageError(f"{name} was written by a newer version of the program.", "Update this one.")
        pictures = _pictures(folder, found.pop(PAGES, None), name)
    return replace(checked(StudyCopy, {**found, "pictures": ()}, f"{name}, {CONTENT}", _HINT), pictures=pictures)


def _pictures(folder: Path, described: Any, name: str) -> tuple[KeptPicture, ...]:
    """Return the pages that were kept of removed documents. Raises UsageError where they do not fit together."""
    if described is not None and not isinstance(described, list):
        raise UsageError(f"{name} is not complete: {PAGES} is no list.", _HINT)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    found = []
    for one in described or ():
        try:
            file, mime, page = str(one["file"]), one["mime"], one["page"]
            place = str(one["document_id"]), page, str(one["passage_id"])
            known = mime in TYPES and type(page) is int
        except (TypeError, KeyError):
            known = False
        if not known:
            raise UsageError(f"{name} is not complete: a kept page is not described.", _HINT)
        if file not in there:
            raise UsageError(f"{name} is not complete: the kept page {file!r} is missing.", _HINT)
        found.append(KeptPicture(*place, mime, (folder / file).read_bytes()))
    return tuple(found)
