"""What leaves a study: ratings, results, and the whole of it as a ZIP."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pdfqa_core.errors import UsageError
from pdfqa_core.exports import frames
from pdfqa_core.exports.evaluation_files import unpacked_copy, write_jsonl
from pdfqa_core.exports.figure import COLOURS, draw_curve, figure_file, new_figure, page_svg
from pdfqa_core.exports.frames import (
    COUNT,
    MOMENT,
    NUMBER,
    TEXT,
    TRUTH,
    frame,
    latex_escape,
    latex_table,
    row_blocks,
    write_frame,
)
from pdfqa_core.json_codec import checked, encode_utf8
from pdfqa_core.metrics.human_results import ACCURACY, CONVERSATION, GROUPS, INTENT, OVERALL, SYSTEM, TURN, ResultRow
from pdfqa_core.metrics.statistics import Summary
from pdfqa_core.reading.outcomes import lines_of
from pdfqa_core.storage import StudyTurn
from pdfqa_core.storage.records import KeptPicture, StudyCopy
from pdfqa_core.study_types import MISSED, Adjudication, Rating, Study
from pdfqa_core.types import Hit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


# ----------------------------------------------------------------------------------------------------
# Ratings as a table and as JSONL, one row per item, annotator and criterion; `pdfqa agreement` reads the CSV back.

FORMATS = {**frames.FORMATS, "jsonl": "jsonl", "wide": "wide.csv"}  # by name: how files end


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """Ratings as a file: its name, its content, and how many ratings it holds."""

    name: str
    data: bytes
    rows: int


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A rating with everything needed to understand it on its own; the fields are the columns, in this order.

    `outcome` is "answer", "perhaps" or "nothing"; `quote` are the lines before an answer that is not sure, or those
    nearest to the question. `passages` and `pages` ("file p. 7", parted by "; ") are those shown with the answer; for
    the rating of one passage, that one, also where it was `missed`. `thumb` is what the one who asked thought of the
    answer: "up", "down" or nothing. `adjudicated` is the value agreed on later, empty without one; `revised` is what
    the annotator changed theirs to after agreement could be seen. `kind` is "training" or "check" for an item that is
    no part of the results. `seconds` is the time the annotator looked at the item; `rated_at` is in UTC.
    """

    study: str
    item: str
    annotator: str
    criterion: str
    value: str
    comment: str
    adjudicated: str
    revised: str
    kind: str
    conversation: str
    turn: int
    question: str
    standalone_question: str
    answer: str
    refused: bool
    outcome: str
    quote: str
    passages: str
    pages: str
    reader: str
    model: str
    settings_fingerprint: str
    thumb: str
    seconds: float
    rated_at: datetime


_CELLS = attrgetter(*(field.name for field in fields(RatingRow)))


def rating_rows(
    study: Study,
    turns: Sequence[StudyTurn],
    ratings: Iterable[Rating],
    adjudications: Iterable[Adjudication] = (),
    revisions: Iterable[Rating] = (),
) -> tuple[RatingRow, ...]:
    """Return one row per rating, in the order of the study's turns, items and annotators as they come.

    Ratings of turns that are not among `turns` are left out. Of `revisions`, oldest first, the last counts.
    """
    later = {(one.annotator, one.item_id, one.criterion): one.value for one in revisions}
    agreed = {(decision.item_id, decision.criterion): decision.value for decision in adjudications}
    by_turn: dict[str, list[Rating]] = {}
    for rating in ratings:
        by_turn.setdefault(rating.turn_id, []).append(rating)
    rows = []
    for one in turns:
        shown: dict[str, tuple[str, str]] = {}  # by rank, for all who rated it
        for rating in by_turn.get(one.turn.id, ()):
            decision = agreed.get((rating.item_id, rating.criterion), "")
            revised = later.get((rating.annotator, rating.item_id, rating.criterion), "")
            rank = rating.item_id.partition("#")[2]
            if rank not in shown:
                shown[rank] = _shown(one, rank)
            rows.append(_row(study, one, rating, decision, revised, shown[rank]))
    return tuple(rows)


def blinded(row: RatingRow) -> RatingRow:
    """Return the row without what tells which system answered, or what the one who asked thought of it."""
    return replace(row, reader="", model="", settings_fingerprint="", thumb="")


def ratings_frame(rows: Iterable[RatingRow]) -> DataFrame:
    """Return the rows as a table; times are in UTC."""
    kinds = {"int": COUNT, "bool": TRUTH, "float": NUMBER, "datetime": MOMENT}
    columns = {field.name: kinds.get(str(field.type), TEXT) for field in fields(RatingRow)}
    return frame(columns, ([getattr(row, name) for name in columns] for row in rows))


def write_ratings(rows: Iterable[RatingRow], kind: str = "csv") -> bytes:
    """Return the rows as a file; `kind` is one of FORMATS. JSON lines hold them exactly."""
    if kind == "jsonl":
        return write_jsonl(rows)
    if kind == "wide":
        return b"".join(row_blocks(*_wide(tuple(rows))))
    if kind == "csv":
        return b"".join(ratings_blocks(rows))
    return write_frame(ratings_frame(rows), kind)


def ratings_blocks(rows: Iterable[RatingRow]) -> Iterator[bytes]:
    """Yield the CSV file of the rows, some of them at a time."""
    return row_blocks([field.name for field in fields(RatingRow)], map(_CELLS, rows))


def _wide(rows: Sequence[RatingRow]) -> tuple[list[str], Iterable[Sequence[Any]]]:
    """Return columns and rows: one for each item, with a column for each criterion and annotator ("answer: Ada")."""
    columns = dict.fromkeys(f"{row.criterion}: {row.annotator}" for row in sorted(rows, key=lambda row: row.criterion))
    items: dict[str, dict[str, str]] = {}
    first: dict[str, RatingRow] = {}
    for row in rows:
        first.setdefault(row.item, row)
        items.setdefault(row.item, {})[f"{row.criterion}: {row.annotator}"] = row.value
    described = ("item", "conversation", "turn", "question", "answer", "passages")
    cells = attrgetter(*described)
    made = ([*cells(first[item]), *(values.get(name, "") for name in columns)] for item, values in items.items())
    return [*described, *columns], made


def _shown(one: StudyTurn, rank: str) -> tuple[str, str]:
    """Return texts and places of an answer's passages, with a rank those of one passage."""
    hits = [hit for hit in one.turn.answer.hits if not rank or str(hit.rank) == rank]
    texts = "\n\n".join([f"[{hit.rank}] {hit.passage.text}" for hit in hits])
    return texts, "; ".join([_place(hit, one.filenames) for hit in hits])


def _row(
    study: Study, one: StudyTurn, rating: Rating, adjudicated: str, revised: str, shown: tuple[str, str]
) -> RatingRow:
    turn, lines = one.turn, lines_of(one.turn.answer)
    missed = rating.comment.partition("\n") if rating.criterion == MISSED else ("", "", "")
    return RatingRow(
        study=study.name,
        item=rating.item_id,
        annotator=rating.annotator,
        criterion=rating.criterion,
        value=rating.value,
        comment=rating.comment,
        adjudicated=adjudicated,
        revised=revised,
        kind=one.details.role,
        conversation=one.conversation_id,
        turn=turn.number,
        question=turn.question,
        standalone_question=turn.standalone_question,
        answer=turn.answer.text,
        refused=turn.answer.refused,
        outcome=turn.answer.outcome.value,
        quote=lines[0].quote if lines else "",
        passages=missed[2] or shown[0],
        pages=missed[0] or shown[1],
        reader=turn.answer.reader,
        model=turn.answer.model,
        settings_fingerprint=turn.answer.settings_fingerprint,
        thumb=turn.thumb,
        seconds=rating.seconds,
        rated_at=rating.rated_at.astimezone(UTC),
    )


def _place(hit: Hit, filenames: Mapping[str, str]) -> str:
    name = filenames.get(hit.passage.document_id, hit.passage.document_id[:12])
    return f"{name} p. {', '.join(map(str, hit.passage.pages))}"


# ----------------------------------------------------------------------------------------------------
# The result tables of a study: as a table of numbers, as LaTeX for a thesis, and as a chart.

COLUMNS = {
    "rater": TEXT, "group": TEXT, "value": TEXT, "measure": TEXT, "mean": NUMBER, "low": NUMBER, "high": NUMBER,
    "n": COUNT, "unscored": COUNT, "conversations": COUNT,
}  # fmt: skip
TITLES = {
    OVERALL: "Overall", SYSTEM: "By system", TURN: "By turn", INTENT: "By intent", CONVERSATION: "By conversation",
}  # fmt: skip
INTERVALS = (
    "95 % intervals: percentiles of the means of resampled conversations (of a conversation alone: of its resampled "
    "turns); exact where a proportion is 0 or 1, none where another mean is of one value."
)
_HEADS = {SYSTEM: "System", TURN: "Turn", INTENT: "Intent", CONVERSATION: "Conversation"}
_MOST_RATERS = len(COLOURS)


@dataclass(frozen=True, slots=True)
class ResultLine:
    """A line of a printed table: what it is about, the rater, how many turns, and a cell for each measure."""

    value: str
    rater: str
    turns: int
    cells: tuple[ResultRow | None, ...]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """One of the printed tables: its group, its measures in order, its lines."""

    group: str
    measures: tuple[str, ...]
    lines: tuple[ResultLine, ...]

    @property
    def title(self) -> str:
        """What stands above it."""
        return TITLES[self.group]

    @property
    def head(self) -> tuple[str, ...]:
        """The names of its columns, short enough for a page of a thesis."""
        first = (_HEADS[self.group],) if self.group in _HEADS else ()
        return (*first, "Rater", "n", *map(short_name, self.measures))

    @property
    def texts(self) -> list[list[str]]:
        """The lines as they are printed, a cell for each column."""
        return [
            [
                *([line.value] if self.group in _HEADS else []),
                line.rater,
                str(line.turns),
                *(result_cell(cell, line.turns) for cell in line.cells),
            ]
            for line in self.lines
        ]


def short_name(measure: str) -> str:
    """Return a measure's name for the head of a column."""
    return "Acc." if measure == ACCURACY else measure


def result_tables(rows: Sequence[ResultRow]) -> tuple[ResultTable, ...]:
    """Return the tables as they are printed: one for each group that has rows, the raters of a value side by side."""
    measures = tuple(dict.fromkeys(row.measure for row in rows))
    raters = tuple(dict.fromkeys(row.rater for row in rows))
    found = []
    for group in GROUPS:
        cells: dict[str, dict[str, dict[str, ResultRow]]] = {}
        for row in rows:
            if row.group == group:
                cells.setdefault(row.value, {}).setdefault(row.rater, {})[row.measure] = row
        lines = [
            ResultLine(value, rater, max(_turns(one) for one in given.values()), tuple(map(given.get, measures)))
            for value, by_rater in cells.items()
            for rater in raters
            if (given := by_rater.get(rater))
        ]
        if lines:
            found.append(ResultTable(group, measures, tuple(lines)))
    return tuple(found)


def result_cell(row: ResultRow | None, turns: int) -> str:
    """Return a cell as a person reads it: "0.80 [0.62, 0.95]", with what it leaves out, or its n if not the line's."""
    if row is None or row.summary.mean is None:
        return "–"
    own = row.summary
    bounds = "" if own.low is None else f" [{own.low:.2f}, {own.high:.2f}]"
    return f"{own.mean:.2f}{bounds}" + (f" ({counted})" if (counted := counted_words(own, turns)) else "")


def counted_words(own: Summary, turns: int) -> str:
    """Return "n = 6, 2 left out" of a mean that leaves turns out, and its n where that is not the line's."""
    if own.unscored:
        return f"n = {own.n}, {own.unscored} left out"
    return f"n = {own.n}" if own.n != turns else ""


def results_frame(rows: Sequence[ResultRow]) -> DataFrame:
    """Return a row per rater, group, value and measure: mean, interval, n, unscored and number of conversations."""
    return frame(
        COLUMNS,
        (
            (
                row.rater,
                row.group,
                row.value,
                row.measure,
                row.summary.mean,
                row.summary.low,
                row.summary.high,
                row.summary.n,
                row.summary.unscored,
                row.conversations,
            )
            for row in rows
        ),
    )


def results_latex(rows: Sequence[ResultRow], study: str) -> bytes:
    """Return booktabs tables with short heads: overall, by turn, by intent, by conversation."""
    import pandas as pd

    made = []
    for table in result_tables(rows):
        body = [[_latex_text(text) for text in line] for line in table.texts]
        text = "c" * len(table.measures)
        made.append(
            latex_table(
                pd.DataFrame(body, columns=[_latex_head(name) for name in table.head]),
                caption=latex_escape(f"{study}: {table.title.lower()}. {INTERVALS}"),
                label=f"tab:study-{table.group}",
                columns=("l" if table.group != OVERALL else "") + "lr" + text,
            )
        )
    return b"\n".join(made)


def _latex_text(text: str) -> str:
    """Return a cell for LaTeX; a bracket or star at its beginning would belong to the end of the line before."""
    return ("{}" if text.startswith(("[", "*")) else "") + latex_escape(text)


def _latex_head(name: str) -> str:
    return "$n$" if name == "n" else latex_escape(name)


def _turns(row: ResultRow) -> int:
    return row.summary.n + row.summary.unscored


# ------------------------------------------------------------------ chart

Draw = Callable[["Axes"], None]


def results_figure(rows: Sequence[ResultRow], study: str, kind: str) -> bytes:
    """Return the chart as one file; `kind` is png, svg or pdf. Raises UsageError for another, or nothing to draw."""
    panels = _panels(rows)
    if not panels:
        raise UsageError(f"“{study}” has no rated answers or passages to draw.", "Rate some first.")

    def draw() -> Figure:
        made = new_figure(5.6 * len(panels), 4.2)
        for place, (title, panel) in enumerate(panels, start=1):
            axes = made.add_subplot(1, len(panels), place)
            panel(axes)
            axes.set_title(title)
        made.suptitle(study, x=0.01, ha="left", fontsize=12, fontweight="bold")
        return made

    return figure_file(kind, "results", draw)


def results_panels(rows: Sequence[ResultRow]) -> tuple[tuple[str, str], ...]:
    """Return each panel's title and its SVG for a page: ink is `currentColor`, lines are the variable `--line`."""
    return tuple(
        (title, page_svg(title, f"r{place}-", draw, (5.4, 3.6)))
        for place, (title, draw) in enumerate(_panels(rows), start=1)
    )


def _panels(rows: Sequence[ResultRow]) -> list[tuple[str, Draw]]:
    """Return accuracy and HR@k by turn number, a line for each rater, with their titles."""
    measures = list(dict.fromkeys(row.measure for row in rows if row.group == TURN and row.summary.mean is not None))
    deepest = [name for name in measures if name != ACCURACY][-1:]
    chosen = [name for name in measures if name == ACCURACY] + deepest
    titles = {ACCURACY: "Accuracy of answers by turn"}

    def panel(measure: str) -> Draw:
        mine = [row for row in rows if row.group == TURN and row.measure == measure and row.summary.mean is not None]
        return lambda axes: _by_turn(axes, mine, measure)

    return [(titles.get(name, f"{name} of passages by turn"), panel(name)) for name in chosen]


def _by_turn(axes: Axes, rows: Sequence[ResultRow], measure: str) -> None:
    from matplotlib.ticker import MaxNLocator

    raters = list(dict.fromkeys(row.rater for row in rows))[-_MOST_RATERS:]
    for place, rater in enumerate(raters):
        mine = [row for row in rows if row.rater == rater]
        shift = (place - (len(raters) - 1) / 2) * 0.11
        draw_curve(axes, [(int(row.value) + shift, row.summary) for row in mine], place, rater)
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel(f"{'Accuracy' if measure == ACCURACY else measure} (0 to 1)")
    axes.set_xlabel("Turn of the conversation; bars: 95 % intervals")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    if len(raters) > 1:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, frameon=False, fontsize=7.5)


# ----------------------------------------------------------------------------------------------------
# A study as a ZIP that another workspace takes: all that was rated and said, exactly, kept pages, and a table.

FORMAT = 3
CONTENT, TABLE = "study.json", "ratings.csv"
PAGES = "kept_pages"
TYPES = {"image/jpeg": "jpg", "image/png": "png"}  # of pictures of pages, and how their files end
LEVEL = 1  # of compression: a tenth larger than 6, in a quarter of its time
_HINT = "Give a file that “pdfqa study export” wrote."


def write_study(copy: StudyCopy) -> bytes:
    """Return the ZIP of a study; the same study makes the same bytes."""
    pages = [(f"pages/{number}.{TYPES[one.mime]}", one) for number, one in enumerate(copy.pictures, start=1)]
    described = [
        {"file": name, "document_id": one.document_id, "page": one.page, "passage_id": one.passage_id, "mime": one.mime}
        for name, one in pages
    ]
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
    with unpacked_copy(source, name, "study", CONTENT, FORMAT, _HINT) as (folder, found):
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
