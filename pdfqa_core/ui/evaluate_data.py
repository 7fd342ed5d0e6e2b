"""The file of questions that somebody brings to the Evaluate tab; the files of a BEIR data set become one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold import packed, suffixes
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import FIELD_HEIGHT

Upload: TypeAlias = str | Sequence[str] | None  # what the file field gives: none, one or several paths

QRELS = ".tsv"
APART = "beir.zip"  # what the files of a data set that are brought apart become


def file_field(label: str, elem_id: str) -> gr.File:
    """Return the field for a file of questions, or for the three files of a BEIR data set."""
    return gr.File(
        label=label, file_types=[*suffixes(), QRELS], file_count="multiple", visible=False, height=FIELD_HEIGHT,
        elem_id=elem_id,
    )  # fmt: skip


def template_button(elem_id: str) -> gr.Button:
    """Return the button that gives a table to be filled in, shown beside the field for a file."""
    return gr.Button("Template (CSV)", size="sm", visible=False, elem_id=elem_id)


def brought(upload: Upload) -> Path | None:
    """Return the file that was brought, None without one; several are packed as a BEIR data set.

    Raises UsageError where they are no such data set.
    """
    paths = [Path(one) for one in ([upload] if isinstance(upload, str) else upload or ())]
    if len(paths) < 2:
        return paths[0] if paths else None
    try:
        return Path(downloads.write(APART, packed("This", ((path.name, path) for path in paths))))
    except UsageError as error:
        names = ", ".join(path.name for path in paths)
        raise UsageError(
            f"Several files are read as one BEIR data set only. {error.what}",
            f"Here are: {names}. Take away what does not belong, or add what is missing.",
        ) from error
