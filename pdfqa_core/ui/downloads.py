"""Files for the browser. Gradio copies one into its own cache when a handler returns its path."""

from __future__ import annotations

from pdfqa_core.ui import temporary
from pdfqa_core.whole_files import safe_name, sha256


def write(name: str, data: bytes) -> str:
    """Write a file that the browser saves under `safe_name(name)`; return its path.

    The same content is written to the same place again, so that a page which is loaded often leaves one file.
    """
    path = temporary.downloads() / sha256(data)[:32] / safe_name(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)
