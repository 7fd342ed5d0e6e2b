"""Looks through a file from outside under limits: unpacks a ZIP into a folder, counts what a text or a table holds."""

from __future__ import annotations

import errno
import zipfile
from pathlib import Path, PurePosixPath

from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.limits import Count, FileLimits, TextCount, TooMuchError
from pdfqa_core.whole_files import DAMAGE, LONGEST_NAME

BLOCK = 1 << 18  # bytes at a time
TEXTS = frozenset({".json", ".jsonl", ".csv", ".tsv", ".txt", ""})  # how those parts of a ZIP end that are parsed
PARQUET = b"PAR1"  # how such files begin
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # compressions whose memory is bounded by what is asked for
_ENCRYPTED = 1


def unpack(path: Path, folder: Path, limits: FileLimits, name: str, *, known: bool = False) -> list[str]:
    """Write the parts of a ZIP, called `name`, to an empty folder; return which of them are texts and were counted.

    `known` takes stored and deflated parts only. Raises UsageError: no ZIP, damaged, more than the limits allow,
    encrypted, a part twice or with a name that leads out of the folder.
    """
    count, texts, seen = Count(limits, name), [], set[str]()
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                count.part()
                if entry.is_dir():
                    continue
                if entry.flag_bits & _ENCRYPTED:
                    raise UsageError(f"{name} is encrypted: {entry.filename[:LONGEST_NAME]}.", "Pack it without one.")
                if known and entry.compress_type not in _KNOWN:
                    raise TooMuchError(f"{name} is packed in an unusual way.")
                place = _place(entry.filename, name)
                if str(place).casefold() in seen:
                    raise UsageError(f"{name} has the part {place} twice.", "Pack it again.")
                seen.add(str(place).casefold())
                target = folder / place
                target.parent.mkdir(parents=True, exist_ok=True)
                text = TextCount(count, str(place)) if place.suffix.lower() in TEXTS else None
                with archive.open(entry) as part, target.open("xb") as file:
                    while block := part.read(BLOCK):
                        count.bytes(len(block))
                        if text is not None:
                            text.take(block)
                        file.write(block)
                if text is not None:
                    texts.append(str(place))
    except MemoryError:
        raise
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise UsageError(f"There is no room to unpack {name}.", "Make room on the disk.") from error
        raise DamagedError(f"{name} is no ZIP, or damaged.", "Fetch or export it again.") from error
    return texts


class DamagedError(UsageError):
    """A file cannot be unpacked."""


def _place(entry: str, name: str) -> PurePosixPath:
    """Return where a part of a ZIP is written, below its folder. Raises UsageError for a name that leads elsewhere."""
    place = PurePosixPath(entry.replace("\\", "/"))
    parts = place.parts
    if not parts or place.is_absolute() or ".." in parts or any(c in entry for c in "\x00:"):
        raise UsageError(f"{name} has a part that leads out of it: {entry[:LONGEST_NAME]!r}.", "Pack it again.")
    if any(len(part.encode(errors="replace")) > LONGEST_NAME for part in parts) or len(parts) > 20:
        raise UsageError(f"{name} has a part with too long a name: {entry[:50]!r}….", "Pack it again.")
    return place


def weigh(path: Path, limits: FileLimits, name: str) -> None:
    """Count what a text or a Parquet table holds. Raises UsageError where it is more than the limits allow."""
    count = Count(limits, name)
    with path.open("rb") as file:
        block = file.read(BLOCK)
        if block.startswith(PARQUET):
            _weigh_table(path, count, name)
            return
        text = TextCount(count)
        while block:
            text.take(block)
            block = file.read(BLOCK)


def _weigh_table(path: Path, count: Count, name: str) -> None:
    from pyarrow.parquet import ParquetFile

    size = 0
    try:
        with ParquetFile(path) as table:
            for batch in table.iter_batches(1000, use_threads=False):
                size += batch.nbytes
                count.text(size, "")
                count.cells(batch.num_rows * (batch.num_columns + 1))
    except MemoryError:
        raise
    except DAMAGE as error:
        raise DamagedError(f"{name} is no Parquet table, or damaged.", "Export it again.") from error
