"""Tables that leave the program: pandas frames, and one writer per format for all of them.

CSV follows `csv_format` (cells cannot become formulas, reading it gives the same cells); tab-separated text is what the
clipboard takes; LaTeX is a booktabs table; Parquet keeps the kinds of the columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.csv_format import csv_blocks, escape_cell, write_csv
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.json_codec import plain
from pdfqa_core.metrics.comparison import Comparison
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.types import Answer, Citation, Conversation, Document, Hit, Turn

if TYPE_CHECKING:
    from pandas import DataFrame


# ----------------------------------------------------------------------------------------------------
# Answers, hits and citations as JSON objects: the same on the command line, in the API and in its documentation.


def turn_row(turn: Turn, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return an answered question as it appears in JSON."""
    answer, names = turn.answer, {one.id: one.filename for one in documents.values()}
    return {
        "question": turn.question,
        "answer": answer.text,
        "refused": answer.refused,
        **outcome_row(answer, names),
        "standalone_question": turn.standalone_question,
        "citations": [
            {**place_row(one, names), "verified": one.verified, "number": one.number} for one in answer.citations
        ],
        "sentences": [
            {
                "text": answer.text[one.start : one.end],
                "support": one.support.value,
                "numbers_not_found": [answer.text[start:end] for start, end in one.numbers],
            }
            for one in answer.sentences
        ],
        "hits": [hit_row(hit, documents) for hit in answer.hits],
        "seconds": dict(answer.seconds),
        "model": answer.model,
        "reader": answer.reader,
        "confidence": answer.confidence,
        "signals": dict(answer.signals),
        "rewriting": answer.rewriting,
        "notes": list(answer.notes),
        "stopped": answer.stopped,
        "turn_id": turn.id,
    }


def conversation_row(conversation: Conversation, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a conversation as `json_codec` writes it, with `outcome_row` in each answer; `names` are file names."""
    row: dict[str, Any] = plain(conversation)
    for turn, told in zip(conversation.turns, row["turns"], strict=True):
        told["answer"] |= outcome_row(turn.answer, names)
    return row


def outcome_row(answer: Answer, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what came of a question, and the lines that stand first in an answer that is not sure, or are nearest."""
    quotes = [place_row(lines, names) for lines in lines_of(answer)]
    return {
        "outcome": answer.outcome.value,
        "quote": quotes[0] if quotes else None,
        "second_quote": (*quotes, None, None)[1],
    }


def place_row(citation: Citation, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what is quoted, with its place, as it appears in JSON; no name if the document has been removed."""
    span = citation.span
    return {"filename": names.get(span.document_id, ""), "page": span.page, "quote": citation.quote}


def hit_row(hit: Hit, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return a hit as it appears in JSON."""
    return {
        "rank": hit.rank,
        "score": hit.score,
        "filename": filename_of(hit.passage.document_id, documents),
        "document_id": hit.passage.document_id,
        "pages": list(hit.passage.pages),
        "text": hit.passage.text,
        "parts": dict(hit.parts),
    }


def filename_of(document_id: str, documents: Mapping[str, Document]) -> str:
    """Return the name of a document; empty if it has been removed meanwhile."""
    return documents[document_id].filename if document_id in documents else ""


# ----------------------------------------------------------------------------------------------------
# Tables that leave the program: pandas frames, and one writer per format for all of them.

# Kinds of columns, as pandas names them.
TEXT, NUMBER, COUNT, TRUTH, MOMENT = "string", "Float64", "Int64", "boolean", "datetime64[us, UTC]"
_ITEM_COLUMNS = {"system": TEXT, "item": TEXT, "measure": TEXT, "value": NUMBER}
_RANKED_COLUMNS = {
    "system": TEXT, "settings": TEXT, "item": TEXT, "question": TEXT, "measure": TEXT, "value": NUMBER,
    "first_relevant_rank": COUNT, "seconds": NUMBER,
}  # fmt: skip
_TABLE_COLUMNS = {
    "system": TEXT, "measure": TEXT, "mean": NUMBER, "low": NUMBER, "high": NUMBER, "n": COUNT, "unscored": COUNT,
    "baseline": TEXT, "difference": NUMBER, "difference_low": NUMBER, "difference_high": NUMBER, "p": NUMBER,
}  # fmt: skip
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "−": "-", "\n": " ", "\r": " ",
}  # fmt: skip


# ------------------------------------------------------------------ frames


def frame(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> DataFrame:
    """Return a frame with these columns, by name their kind; None is a gap, lone surrogates become "?"."""
    import pandas as pd

    clean = (
        [
            cell.encode("utf-8", "replace").decode() if isinstance(cell, str) and not cell.isascii() else cell
            for cell in row
        ]
        for row in rows
    )
    return pd.DataFrame(list(clean), columns=list(columns), dtype=object).astype(dict(columns))


def items_frame(evaluation: Evaluation) -> DataFrame:
    """Return a row per system, item and measure; where systems rank, with question, rank and seconds."""
    ranked = any(item.seconds is not None for system in evaluation.systems for item in system.items)
    rows: list[tuple[Any, ...]] = []
    for system in evaluation.systems:
        cells = [(item, name) for item in system.items for name in evaluation.measures if name in item.metrics]
        if not ranked:
            rows += [(system.name, item.id, name, item.metrics[name]) for item, name in cells]
            continue
        for item, name in sorted(cells, key=lambda cell: evaluation.measures.index(cell[1])):
            question, seconds = item.texts.get("question", ""), round(item.seconds or 0.0, 6)
            settings, value = system.settings_fingerprint, item.metrics[name]
            rows.append((system.name, settings, item.id, question, name, value, item.rank, seconds))
    return frame(_RANKED_COLUMNS if ranked else _ITEM_COLUMNS, rows)


def comparison_frame(comparison: Comparison) -> DataFrame:
    """Return a row per system and measure: mean, interval, n, unscored, difference to the baseline and p."""
    rows = []
    for system, cells in comparison.cells.items():
        for name in comparison.measures:
            own, other = cells[name].summary, cells[name].difference
            difference: tuple[Any, ...] = (None,) * 5
            if other is not None:
                difference = (comparison.baseline, other.mean, other.low, other.high, cells[name].p)
            rows.append((system, name, own.mean, own.low, own.high, own.n, own.unscored, *difference))
    return frame(_TABLE_COLUMNS, rows)


# ------------------------------------------------------------------ formats


def write_frame(table: DataFrame, kind: str = "csv") -> bytes:
    """Return a frame as a file; `kind` is one of FORMATS. Raises UsageError for another, or what it needs is absent."""
    if kind not in _WRITERS:
        raise UsageError(f"Tables are not written as {kind!r}.", f"Choose one of: {', '.join(FORMATS)}.")
    return _WRITERS[kind](table)


def row_blocks(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """Yield the CSV file that a frame of the rows makes, block by block, in a fraction of its time."""
    return csv_blocks(columns, ([cell if type(cell) is str else _cell(cell) for cell in row] for row in rows))


def format_of(path: Path) -> str:
    """Return the format that a file's name asks for; CSV where it names none."""
    return next((kind for kind, suffix in FORMATS.items() if path.suffix.lower() == f".{suffix}"), "csv")


def clipboard_text(table: DataFrame) -> str:
    """Return the frame as tab-separated text; a spreadsheet takes no cell of it for a formula."""
    texts = [str(kind) == TEXT for kind in table.dtypes]
    lines = [list(table.columns)]
    for row in _rows(table):
        lines.append(
            [escape_cell(" ".join(cell.split())) if text else cell for cell, text in zip(row, texts, strict=True)]
        )
    return "".join("\t".join(line) + "\n" for line in lines)


def latex_table(cells: DataFrame, *, caption: str = "", label: str = "", columns: str = "") -> bytes:
    """Return a booktabs table of cells and column names that are LaTeX already; `columns` are their alignments."""
    made = cells.style.hide(axis="index").to_latex(
        hrules=True,
        position="t",
        position_float="centering",
        caption=caption or None,
        label=label or None,
        column_format=columns or "l" * len(cells.columns),
    )
    return f"% needs \\usepackage{{booktabs}}\n{made}".encode("utf-8", errors="replace")


def latex_escape(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in text)


def _csv(table: DataFrame) -> bytes:
    numbers = {place for place, kind in enumerate(table.dtypes) if str(kind) in (NUMBER, COUNT)}
    return write_csv(list(table.columns), _rows(table), numbers if len(table.columns) > 1 else ())


def _tsv(table: DataFrame) -> bytes:
    return clipboard_text(table).encode()


def _latex(table: DataFrame) -> bytes:
    import pandas as pd

    rows = [
        [latex_escape(f"{cell:.3f}" if isinstance(cell, float) else _cell(cell)) for cell in row]
        for row in table.itertuples(index=False, name=None)
    ]
    columns = "".join("l" if str(kind) in (TEXT, MOMENT) else "r" for kind in table.dtypes)
    return latex_table(pd.DataFrame(rows, columns=[latex_escape(name) for name in table.columns]), columns=columns)


def _parquet(table: DataFrame) -> bytes:
    try:
        return bytes(table.to_parquet(None, index=False))
    except ImportError as error:
        raise UsageError("Parquet files need the package pyarrow.", "Install it: pip install pyarrow.") from error


_WRITERS: Mapping[str, Callable[[DataFrame], bytes]] = {
    "csv": _csv, "tsv": _tsv, "latex": _latex, "parquet": _parquet,
}  # fmt: skip
FORMATS = {"csv": "csv", "tsv": "tsv", "latex": "tex", "parquet": "parquet"}  # by name: how files end


def _rows(table: DataFrame) -> Iterable[list[str]]:
    columns = (
        [cell if type(cell) is str else _cell(cell) for cell in table.iloc[:, place].tolist()]
        for place in range(len(table.columns))
    )
    return map(list, zip(*columns, strict=True)) if len(table.columns) else ()


_PLAIN: Mapping[type, Callable[[Any], str]] = {
    int: str, bool: lambda value: str(int(value)), float: lambda value: "" if math.isnan(value) else repr(value),
    datetime: lambda value: str(value.astimezone(UTC).isoformat()),
}  # fmt: skip


def _cell(value: Any) -> str:
    """Return a cell as text: gaps empty, numbers exactly, booleans 0 or 1, times ISO 8601 in UTC."""
    if isinstance(value, str):
        return value
    if (write := _PLAIN.get(type(value))) is not None:
        return write(value)
    import numpy as np
    import pandas as pd

    if pd.isna(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
