"""Data sets of the Hugging Face hub by name, such as din0s/asqa: the file of a split, as JSONL."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path, PurePosixPath

from pdfqa_core.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_READ = (".jsonl", ".json", ".parquet")


def is_hub_name(path: Path) -> bool:
    """Return whether a path is no file here but looks like the name of a data set, OWNER/NAME."""
    name = path.as_posix()
    return not path.exists() and _NAME.fullmatch(name) is not None and not name.endswith((*_READ, ".csv", ".tsv"))


def fetched(name: str, split: str, folder: Path) -> Path:
    """Fetch a split of a data set and return it as a file in `folder`; a file that was fetched before is not again.

    The split is the file, or the files, in whose path its name stands, whatever is between its words. Raises UsageError
    where the hub cannot be reached, has no such data set, or has no file of the split.
    """
    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    try:
        endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
        there = HfApi(endpoint=endpoint).list_repo_files(name, repo_type="dataset")
        files = [one for one in there if one.endswith(_READ)]
        chosen = [one for one in files if _words(split) in _words(one)]
        if not chosen:
            listed = ", ".join(sorted({PurePosixPath(one).stem for one in files})[:10]) or "no file that can be read"
            raise UsageError(f"{name} has no split called {split!r}.", f"Name one with --split; it has: {listed}.")
        found = [hf_hub_download(name, one, repo_type="dataset", endpoint=endpoint) for one in sorted(chosen)]
    except (HTTPError, OSError, ValueError) as error:  # the hub's own errors among them
        raise UsageError(
            f"{name} is no file here, and the hub did not give it: {_first_line(error)}.",
            "Check the name and the network, or download the data set elsewhere and name its file.",
        ) from error
    paths = [Path(one) for one in found]
    if len(paths) == 1 and paths[0].suffix != ".parquet":
        return paths[0]
    made = folder / f"{_words(split).strip('_')}.jsonl"
    made.write_bytes(b"".join(map(_lines, paths)))
    return made


def _words(text: str) -> str:
    return f"_{re.sub(r'[^a-z0-9]+', '_', text.lower()).strip('_')}_"


def _lines(path: Path) -> bytes:
    if path.suffix != ".parquet":
        return path.read_bytes().rstrip() + b"\n"
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(path).to_pylist()
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
