"""Downloads of models as the page shows them."""

from __future__ import annotations

from pdfqa_core.llm.downloads import DownloadState
from pdfqa_core.ui.components import gigabytes, time_left

BUSY, CALM = 1.0, 15.0  # seconds between two looks at what goes on in the background


def download_words(state: DownloadState) -> str:
    """Return how far a download is: "120 MB of 386 MB, 3.2 MB/s, 2 min left"."""
    progress = state.progress
    if not progress.total:
        return progress.phase
    words = f"{gigabytes(progress.done)} of {gigabytes(progress.total)}"
    if progress.phase != "downloading":
        return f"{progress.phase}: {words}"
    speed = f", {state.speed / 1e6:.1f} MB/s" if state.speed else ""
    left = time_left(progress.seconds_left)
    return f"{words}{speed}{', ' + left if left else ''}"
