"""Files from outside are looked through under limits: what explodes is refused with a sentence."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdfqa_core.errors import UsageError
from pdfqa_core.extraction.process.limits import Count, FileLimits, TextCount, of_visitors
from pdfqa_core.extraction.process.outside import hold_to, read_file, unpacked

VISITORS = of_visitors(50)
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def visiting() -> None:
    hold_to(VISITORS)


def zipped(parts: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return data.getvalue()


def parts_of(source: Path | bytes) -> dict[str, bytes]:
    with unpacked(source, "x.zip", of="study", hint="Hint.") as folder:
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return {name: read_file(path) for name, path in found.items()}


# ------------------------------------------------------------------ the bombs

# As JSON in the memory of everybody's process it became 2.3 GB.
PROGRAM = """
import resource, sys
from pathlib import Path
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.studies import read_study
from pdfqa_core.extraction.process.limits import OWNERS, of_visitors
from pdfqa_core.extraction.process.outside import hold_to

data = Path(sys.argv[1]).read_bytes()
base = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (base + 400_000_000, base + 400_000_000))
for limits in (of_visitors(50), OWNERS):
    hold_to(limits)
    try:
        read_study(data, "bomb.zip")
    except UsageError as error:
        print(error.what)
"""


@pytest.mark.linux
def test_what_explodes_is_refused_while_the_memory_of_both_processes_stays_small(tmp_path: Path) -> None:
    """The process that reads may take 400 MB more than it has, the one that unpacks no more than its own limit."""
    bomb = tmp_path / "bomb.zip"
    bomb.write_bytes(zipped({"study.json": b'{"format":3,"study":[' + b"[]," * 29_000_000 + b"[]]}"}))
    assert bomb.stat().st_size < 90_000
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(bomb)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert ended.stderr == ""
    visitor, owner = ended.stdout.splitlines()
    for said in (visitor, owner):
        assert said.startswith(("bomb.zip holds too much: over ", "bomb.zip is nested too deeply"))


# ------------------------------------------------------------------ limits


LITTLE = FileLimits(10_000, 5_000, 3, 20, 5, 300, 60, "Split it.")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"a.bin": b"x" * 6_000, "b.bin": b"x" * 6_000}, "over 0 MB unpacked"),
        ({"a.json": b'"' + b"x" * 6_000 + b'"'}, "over 0 MB of text in a.json"),
        ({"a": b"", "b": b"", "c": b"", "d": b""}, "over 3 parts"),
        ({"a.json": b"[" + b"1," * 30 + b"1]"}, "over 20 values"),
        ({"a.jsonl": b"{}\n" * 30}, "over 20 values"),
        ({"a.json": b"[1,NaN," + b"1," * 30 + b"1]"}, "over 20 values"),
        ({"a.csv": b"a,b\n" + b"1,2\n" * 30}, "over 40 cells"),
        ({"a.tsv": b"\n" * 60}, "over 40 cells"),
        ({"a.json": b"[" * 8}, "nested too deeply: over 5"),
    ],
)
def test_each_limit_has_its_sentence_and_counts_while_reading(parts: dict[str, bytes], words: str) -> None:
    hold_to(LITTLE)
    with pytest.raises(UsageError, match=words) as caught:
        parts_of(zipped(parts))
    assert caught.value.what.startswith("x.zip ")
    assert caught.value.hint


def test_a_plain_file_is_held_to_the_same_limits(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 9)
    hold_to(LITTLE)
    assert read_file(path) == path.read_bytes()
    path.write_bytes(b'{"a": 1}\n' * 30)
    with pytest.raises(UsageError, match=r"rows.jsonl holds too much: over 20 values\. Split it"):
        read_file(path)
    path.write_bytes(b"x" * 6_000)
    with pytest.raises(UsageError, match="the limit is 0 MB"):
        read_file(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_LZMA])
def test_what_is_honest_is_unpacked(visiting: None, compression: int) -> None:
    parts = {"study.json": b'{"a": [1, "x, y"]}', "pages/1.jpg": bytes(range(256)), "a b/ä.csv": b"a;b\n1;2\n"}
    assert parts_of(zipped(parts, compression)) == parts


def twice() -> bytes:
    return zipped({"study.json": b"1", "study.jsoN": b"2"}).replace(b"study.jsoN", b"study.json")


def encrypted() -> bytes:
    data = bytearray(zipped({"study.json": b"{}"}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    return bytes(data)


def lying() -> bytes:
    """Return a ZIP whose part says that it has two bytes."""
    data = bytearray(zipped({"study.json": b"0" * 5_000_000}))
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + at, 2)
    return bytes(data)


def overlapping() -> bytes:
    """Return a ZIP whose directory names the same bytes many times."""
    one = zipped({"a0000": b"0" * 1_000_000})
    first, end = one.index(b"PK\x01\x02"), one.index(b"PK\x05\x06")
    entry, last = one[first:end], bytearray(one[end:])
    entries = b"".join(entry.replace(b"a0000", b"a%04d" % number) for number in range(1000))
    struct.pack_into("<HHI", last, 8, 1000, 1000, len(entries))
    return one[:first] + entries + bytes(last)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"no zip", "x.zip holds no study: it is another file, or damaged"),
        (zipped({"a": b"x" * 5000})[:-30], "damaged"),
        (zipped({"../a": b""}), "a part that leads out of it: '../a'"),
        (zipped({"/etc/a": b""}), "leads out"),
        (zipped({"a\\..\\..\\b": b""}), "leads out"),
        (zipped({"C:a": b""}), "leads out"),
        (zipped({"a" * 300: b""}), "too long a name"),
        (zipped({"A.json": b"", "a.json": b""}), "has the part a.json twice"),
        (twice(), "x.zip has the part study.json twice"),
        (zipped({"a": b"", "a/b": b""}), "damaged"),
        (encrypted(), "x.zip is encrypted: study.json"),
        (lying(), "damaged"),
        (overlapping(), "damaged|holds too much"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_each_kind_of_bad_zip_has_its_sentence(visiting: None, data: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parts_of(data)


def test_a_table_in_parquet_is_counted_before_it_is_read(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "ratings.parquet"
    hold_to(LITTLE)
    pd.DataFrame({"item": ["a"] * 2_000}).to_parquet(path)
    with pytest.raises(UsageError, match="holds too much: over"):
        read_file(path)
    hold_to(VISITORS)
    pd.DataFrame({"item": ["a"] * 20}).to_parquet(path)
    assert read_file(path) == path.read_bytes()
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(UsageError, match="no Parquet table, or damaged"):
        read_file(path)


# ------------------------------------------------------------------ counting

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\,[{]}:\n'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab"\\,[{'), inner, max_size=4),
)


def counted(value: Any) -> int:
    """Return the lists and objects in a value and the commas between what they hold."""
    if not isinstance(value, list | dict):
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return max(1, len(inside)) + sum(map(counted, inside))


@settings(max_examples=40)
@given(st.lists(VALUES, max_size=4), st.integers(1, 20))
def test_values_are_counted_exactly_however_the_blocks_fall(value: list[Any], size: int) -> None:
    data = json.dumps(value).encode()
    blocks = [data[first : first + size] for first in range(0, len(data), size)]
    _count(blocks, counted(value))
    with pytest.raises(UsageError, match="values"):
        _count(blocks, counted(value) - 1)


def _count(blocks: list[bytes], most: int) -> None:
    text = TextCount(Count(FileLimits(10**9, 10**9, 1, most, 100, 0, 0, ""), "x"))
    for block in blocks:
        text.take(block)
