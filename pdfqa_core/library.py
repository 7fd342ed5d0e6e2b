"""The program from Python, for notebooks and scripts: what the command line does, with tables and pictures as results.

    import pdfqa_core as pdfqa

    with pdfqa.open("my workspace") as ws:
        ws.add("paper.pdf")
        print(ws.ask("How many people took part?").text)

Everything is the local owner's: a workspace is the one that `pdfqa` and the page use. Tables are pandas data frames,
pictures PIL images, errors `PdfQAError` with what happened and what to do.
"""

from __future__ import annotations

import atexit
import base64
import io
import json
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from pdfqa_core.csv_format import label_of
from pdfqa_core.errors import UsageError, in_file
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.exports.agreement import agreement_frame
from pdfqa_core.exports.conversations import paragraphs
from pdfqa_core.exports.figure import FORMATS as FIGURES
from pdfqa_core.exports.figure import figure
from pdfqa_core.exports.frames import (
    FORMATS,
    comparison_frame,
    format_of,
    hit_row,
    items_frame,
    place_row,
    write_frame,
)
from pdfqa_core.exports.report import report_html, table_latex
from pdfqa_core.exports.studies import results_frame
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.metrics.agreement import (
    CRITERION,
    Agreement,
    AgreementOfMany,
    agreement_of_many,
    look_alikes,
    near_labels,
    read_ratings,
)
from pdfqa_core.metrics.comparison import Comparison, compare
from pdfqa_core.protocols.base import profile_named
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.protocols.study_definition import DEFAULT_PRESET
from pdfqa_core.services import LOCAL_OWNER, RunRequest, Services
from pdfqa_core.services.collections import files_of
from pdfqa_core.services.readings import Claim
from pdfqa_core.services.systems import with_settings
from pdfqa_core.settings import Settings, read_settings, workspace_path
from pdfqa_core.types import Citation, Document, Hit, Outcome, Progress, Stored, Turn
from pdfqa_core.whole_files import cannot_write

if TYPE_CHECKING:
    from pandas import DataFrame
    from PIL.Image import Image

    Questions: TypeAlias = str | Path | DataFrame | Sequence[Mapping[str, Any]]

RETRIEVAL = "retrieval"  # the protocol that asks no language model
WIDTH = 900  # pixels of a page's picture


class Workspace:
    """A folder of documents with all that is asked, measured and rated about them. Close it when done.

    `folder` "" is the workspace of `pdfqa` itself. `settings` are named as options of the command line are, with
    underscores: `retriever="bm25"`, `model="smollm2-360m"`. `services` is all that the program can do.
    """

    def __init__(self, folder: str | Path = "", *, progress: bool = True, **settings: Any) -> None:
        path = Path(folder).expanduser().resolve() if folder else workspace_path()
        self.services = Services.open(path, with_settings(read_settings(path), settings))
        self._progress = progress
        atexit.register(self.close)

    def close(self) -> None:
        """Stop what runs and close the database."""
        atexit.unregister(self.close)
        self.services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _settings(self, changes: Mapping[str, Any]) -> Settings:
        return with_settings(self.services.settings, changes)

    def _ended(self, events: Iterable[Any]) -> list[Any]:
        """Return the events but for progress, which a bar shows."""
        return list(_with_bar(events)) if self._progress else [one for one in events if not isinstance(one, Progress)]

    # ------------------------------------------------------------ documents

    @property
    def documents(self) -> DataFrame:
        """One row per document: filename, title, pages, state, reason, document_id."""
        return _documents(self.services.documents.kept.list(LOCAL_OWNER))

    def add(self, *pdfs: str | Path | Iterable[str | Path], password: str | None = None) -> DataFrame:
        """Read PDFs, and those of folders, and make them searchable; return their rows as in `documents`.

        A file that cannot be read gets a row too, with its state and the reason. Raises UsageError for a path that is
        not there.
        """
        given = [one for each in pdfs for one in ([each] if isinstance(each, str | Path) else each)]
        paths = [Path(one).expanduser() for one in given]
        if missing := [str(path) for path in paths if not path.exists()]:
            raise UsageError(f"There is no such file: {', '.join(missing)}.", "Check the path.")
        files = [file for path in paths for file in (files_of(path).chosen if path.is_dir() else [path])]
        added = self._ended(self.services.documents.ingest(LOCAL_OWNER, files, password=password))
        self._ended(self.services.index.build(LOCAL_OWNER, self.services.settings))
        return _documents(added)

    def page(self, document: str, number: int, quotes: Sequence[Citation] = (), *, width: int = WIDTH) -> Image:
        """Return a page (from 1) as a picture, `width` pixels wide, with the quotes on it marked.

        `document` is a file name, title or id. Raises UsageError if there is no such page.
        """
        from PIL import Image

        if not all(isinstance(one, Citation) for one in quotes):
            raise UsageError("Only citations can be marked.", "Give those of a reply: reply.evidence.")
        (document_id, *_) = self.services.documents.document_ids(LOCAL_OWNER, [document])
        claims = [Claim(one.span, one.quote) for one in quotes]
        picture = self.services.documents.pages.marked(LOCAL_OWNER, document_id, number, claims, width=width)
        return Image.open(io.BytesIO(picture.data))

    # ------------------------------------------------------------ questions

    def search(self, question: str, *, documents: str | Sequence[str] = (), **settings: Any) -> Hits:
        """Return the passages that fit a question best, the best first; no language model is asked.

        `documents` limits the search to file names, titles or ids; `settings` hold for this search: `k=10`.
        """
        chosen = self._settings(settings)
        self.services.documents.require_documents(LOCAL_OWNER)
        scope = self.services.documents.document_ids(LOCAL_OWNER, _several(documents))
        self._ended(self.services.index.build(LOCAL_OWNER, chosen))
        found = self.services.index.search(LOCAL_OWNER, question, chosen, document_ids=scope)
        return Hits(tuple(found), {one.id: one for one in self.services.documents.kept.list(LOCAL_OWNER)})

    def ask(
        self,
        question: str,
        *,
        after: Reply | None = None,
        documents: str | Sequence[str] = (),
        anyway: bool = False,
        **settings: Any,
    ) -> Reply:
        """Answer a question with the language model. `after`: go on in the conversation of that reply.

        `anyway` has it answered however little the passages speak for an answer.
        """
        scope = self.services.documents.document_ids(LOCAL_OWNER, _several(documents))
        events = self.services.answers.ask(
            LOCAL_OWNER,
            question,
            self._settings(settings),
            conversation_id=after.conversation_id if after else "",
            document_ids=None if after and not documents else scope,
            anyway=anyway,
        )
        stored = next(event for event in reversed(self._ended(events)) if isinstance(event, Stored))
        return Reply(stored.turn, stored.conversation_id, self)

    # ------------------------------------------------------------ measures

    def evaluate(
        self,
        questions: Questions,
        systems: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        protocol: str = RETRIEVAL,
        baseline: str = "",
        **options: Any,
    ) -> Measured:
        """Measure systems on questions with gold; all of it is stored, as on the page.

        `questions` is a file in any form that `pdfqa evaluate` reads, or rows of one ({"question", "document", "page",
        "quote", "answer", …}). `systems` are settings by name, on top of the workspace's: {"words": {"retriever":
        "bm25"}}; none: the workspace's own. `protocol` "retrieval" scores ranks (options: gold_match, depth, profile);
        another one (`pdfqa evaluate run`) asks the questions and scores the answers, with `options` as of `RunRequest`.
        """
        profile = profile_named(options.get("profile", ""))
        given = systems or {"this workspace": {}}
        if not isinstance(given, Mapping) or not all(isinstance(one, Mapping) for one in given.values()):
            raise UsageError("Systems are settings by name.", 'For example: {"words": {"retriever": "bm25"}}.')
        chosen = {name: profile.set_in(self._settings(changes)) for name, changes in given.items()}
        with _as_file(questions) as path:
            if protocol == RETRIEVAL:
                events = self.services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(path), chosen, **options)
            else:
                run = self.services.evaluation.begin(LOCAL_OWNER, RunRequest(protocol, path, chosen, **options))
                events = self.services.evaluation.go(LOCAL_OWNER, run.id)
            found = next(event for event in reversed(self._ended(events)) if isinstance(event, Evaluation))
        return Measured(found, compare(found, baseline=baseline))

    @property
    def evaluations(self) -> DataFrame:
        """One row per stored evaluation, newest first: evaluation_id, made_at, protocol, dataset, systems."""
        import pandas as pd

        rows = [
            (e.id, e.made_at, e.protocol, e.dataset, list(e.systems))
            for e in self.services.evaluation.kept.list(LOCAL_OWNER)
        ]
        return pd.DataFrame(rows, columns=["evaluation_id", "made_at", "protocol", "dataset", "systems"])

    def evaluation(self, evaluation_id: str, *, baseline: str = "") -> Measured:
        """Return a stored evaluation. Raises UsageError if no evaluation has this id."""
        found = self.services.evaluation.kept.get(LOCAL_OWNER, evaluation_id)
        return Measured(found, compare(found, baseline=baseline))

    # ------------------------------------------------------------ people

    def study(
        self,
        name: str,
        replies: Iterable[Reply] = (),
        *,
        preset: str = DEFAULT_PRESET,
        annotators: str | Sequence[str] = (),
    ) -> Study:
        """Return the study of this name, or make it of the conversations of some replies; people rate it on the page.

        `annotators` are those who may rate (none: anybody). Raises UsageError if there is no such study.
        """
        studies = self.services.studies
        if conversations := tuple(dict.fromkeys(reply.conversation_id for reply in replies)):
            made = studies.of_conversations(LOCAL_OWNER, name, conversations, preset, "\n".join(_several(annotators)))
            return Study(name, made.id, self.services)
        known = {one.name: one.id for one in studies.list(LOCAL_OWNER)}
        if name not in known:
            raise UsageError(f"There is no study {name!r}.", f"Studies: {', '.join(known) or 'none'}.")
        return Study(name, known[name], self.services)

    def agreement(self, ratings: str | Path, **options: Any) -> DataFrame:
        """Return the agreement of a file of ratings, see `agreement` below."""
        return agreement(ratings, **options)


def agreement(ratings: str | Path, **options: Any) -> DataFrame:
    """Return agreement, Cohen's kappa and its companions of a CSV file of ratings: a row per statistic.

    The file has the columns item, annotator, criterion, value, or a column per annotator. `options` are those of
    `agreement_of_file`. What the file is to be looked through for is warned of: cells without a value, labels that
    look misspelt. Raises UsageError that names file and row.
    """
    found = agreement_of_file(Path(ratings).expanduser(), **options)
    for note in found.notes:
        warnings.warn(note, stacklevel=2)
    return agreement_frame(found.pairs, found.many)


@dataclass(frozen=True, slots=True)
class FileAgreement:
    """The agreement that a file's ratings have: of each pair, and of all where more than two have rated.

    `left_out` counts cells without a value that counts; `notes` are sentences about the file.
    """

    pairs: list[Agreement]
    many: Sequence[AgreementOfMany]
    left_out: int
    notes: list[str]


def agreement_of_file(
    path: Path,
    *,
    columns: Sequence[str] = (),
    item: str = "",
    criterion: str = CRITERION,
    values: Sequence[str] = (),
    ignore_case: bool = False,
    annotators: Sequence[str] = (),
    scale: Sequence[str] = (),
    ordinal: bool = False,
    seed: int = 0,
) -> FileAgreement:
    """Return the agreement of a file of ratings, by criterion.

    `columns` are the annotators' ones of a table with a row per item (none: the only two), `item` the one that names
    the items, `criterion` what was judged in it. `values` are the judgements that count (none: all but NA, dashes and
    empty cells). `annotators` are those to compare (none: all). `scale` are the labels of an ordinal scale in order;
    with `ordinal` numbers are one in theirs. Raises UsageError that names file and row.
    """
    with in_file(path.name):
        judgements, left_out = read_ratings(
            read_file(path), columns=columns, item=item, criterion=criterion, values=values, ignore_case=ignore_case
        )
    names = list(annotators) or list(dict.fromkeys(one.annotator for one in judgements))
    if len(set(names)) < len(names):
        raise UsageError("An annotator is named twice.", "Name different ones.")
    labels = [label_of(str(label)) for label in scale]
    if ignore_case:
        known = {one.value.casefold(): one.value for one in judgements}
        labels = [known.get(label.casefold(), label) for label in labels]
    kind = "ordinal" if ordinal or labels else "nominal" if len(names) > 2 else ""
    found = agreement_of_many(
        judgements, names, scale=kind, seed=seed, scales={one.criterion: labels for one in judgements}
    )
    told = [f"{count} {value or 'empty'}" for value, count in left_out.most_common(8)]
    notes = [f"Left out: {left_out.total()} cells without a value that counts ({', '.join(told)})."] if left_out else []
    notes += [f"{note} Mend the file, or have letter case ignored (--ignore-case)." for note in look_alikes(judgements)]
    notes += near_labels(judgements)
    many = found if len(names) > 2 else ()
    return FileAgreement([pair for one in found for pair in one.pairs], many, left_out.total(), notes)


@dataclass(frozen=True, slots=True)
class Hits(Sequence[Hit]):
    """Passages that were found, the best first."""

    hits: tuple[Hit, ...]
    documents: Mapping[str, Document] = field(repr=False)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: Any) -> Any:
        return self.hits[place]

    def to_frame(self) -> DataFrame:
        """Return a row per passage: rank, score, filename, pages, heading, text, document_id, passage_id."""
        import pandas as pd

        rows = [
            {**hit_row(one, self.documents), "heading": one.passage.heading, "passage_id": one.passage.id}
            for one in self.hits
        ]
        columns = ["rank", "score", "filename", "pages", "heading", "text", "document_id", "passage_id"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"<{len(self)} passages>"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


@dataclass(frozen=True, slots=True)
class Reply:
    """An answered question. `turn` is all that is kept of it."""

    turn: Turn
    conversation_id: str
    workspace: Workspace = field(repr=False)

    @property
    def text(self) -> str:
        """The answer's own words, without markers; empty where nothing was found."""
        return "" if self.outcome is Outcome.NOTHING else self.turn.answer.text

    @property
    def outcome(self) -> Outcome:
        """What came of the question: an answer, perhaps one, or nothing."""
        return self.turn.answer.outcome

    @property
    def sure(self) -> bool:
        """Whether the program gives the answer without a caution."""
        return self.outcome is Outcome.ANSWER

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the answer's sentences rest on."""
        return self.turn.answer.citations

    @property
    def evidence(self) -> tuple[Citation, ...]:
        """What the answer rests on, and the lines that match the question best where it is not sure."""
        lines = [self.turn.answer.nearest, self.turn.answer.second]
        return (*self.citations, *(one for one in lines if one is not None))

    def to_frame(self) -> DataFrame:
        """Return a row per piece of evidence: number, filename, page, quote, verified."""
        import pandas as pd

        names = self._names()
        rows = [{**place_row(one, names), "number": one.number, "verified": one.verified} for one in self.evidence]
        return pd.DataFrame(rows, columns=["number", "filename", "page", "quote", "verified"])

    def pictures(self, *, width: int = WIDTH) -> list[Image]:
        """Return the pages that the evidence stands on, each once, with it marked."""
        places = dict.fromkeys((one.span.document_id, one.span.page) for one in self.evidence)
        return [self.workspace.page(*place, self.evidence, width=width) for place in places]

    def _names(self) -> Mapping[str, str]:
        return self.workspace.services.documents.filenames(LOCAL_OWNER)

    def __str__(self) -> str:
        return "\n".join(paragraphs(self.turn.answer, self._names()))

    def _repr_html_(self) -> str:
        told = "".join(f"<p>{escape(one)}</p>" for one in paragraphs(self.turn.answer, self._names()))
        shown = []
        for picture in self.pictures(width=560):
            data = io.BytesIO()
            picture.save(data, "JPEG", quality=70)
            shown.append(f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}">')
        return f"{told}{''.join(shown)}"


@dataclass(frozen=True, slots=True)
class Measured:
    """Systems measured on the same questions."""

    evaluation: Evaluation = field(repr=False)
    comparison: Comparison = field(repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know: questions that dropped out, quotes that were not found, what differs."""
        return self.evaluation.notes

    def to_frame(self) -> DataFrame:
        """Return a row per system and measure: mean, 95 % interval, n, and the difference to the baseline.

        `p` is of a paired test, corrected after Holm for the number of comparisons.
        """
        return comparison_frame(self.comparison)

    def items(self) -> DataFrame:
        """Return a row per system, question and measure."""
        return items_frame(self.evaluation)

    def save(self, path: str | Path) -> Path:
        """Write the table or the figure, as the name ends: .csv, .tsv, .tex, .parquet, .html; .png, .svg, .pdf.

        Raises UsageError for another ending, StorageError where the file cannot be written.
        """
        path = Path(path).expanduser()
        kind = path.suffix.lower().removeprefix(".")
        if kind not in (known := {*FORMATS.values(), *FIGURES, "html"}):
            raise UsageError(f"{path.name} cannot be written.", f"Names end in: .{', .'.join(sorted(known))}.")
        if kind in FIGURES:
            data = figure(self.evaluation, self.comparison, kind)
        elif kind == "html":
            data = report_html(self.evaluation, self.comparison)
        elif kind == FORMATS["latex"]:
            data = table_latex(self.evaluation, self.comparison)
        else:
            data = write_frame(self.to_frame(), format_of(path))
        try:
            path.write_bytes(data)
        except OSError as error:
            raise cannot_write(path, error, "Nothing was written.", "Choose another place.") from error
        return path

    def __repr__(self) -> str:
        return f"<{self.evaluation.protocol} of {', '.join(one.name for one in self.evaluation.systems)}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"{self.to_frame().to_html(index=False)}{notes}"


@dataclass(frozen=True, slots=True)
class Study:
    """Answers that people rate on the page (`pdfqa serve`, tab Annotate)."""

    name: str
    id: str
    services: Services = field(repr=False)

    def ratings(self) -> DataFrame:
        """Return a row per rating, as `pdfqa export ratings` writes them."""
        import pandas as pd

        return pd.read_csv(io.BytesIO(self.services.studies.file(LOCAL_OWNER, self.id, "csv", None).data))

    def agreement(self) -> DataFrame:
        """Return a row per statistic of each pair and criterion."""
        found = self.services.studies.reports.agreement(LOCAL_OWNER, self.id, None)
        return agreement_frame([pair for one in found for pair in one.pairs])

    def results(self) -> DataFrame:
        """Return what the ratings say of the answers: a row per measure, turn and annotator."""
        return results_frame(self.services.studies.reports.results(LOCAL_OWNER, self.id, None))


def _several(names: str | Sequence[str]) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


def _documents(documents: Iterable[Document]) -> DataFrame:
    import pandas as pd

    rows = [(d.filename, d.title, d.page_count, str(d.state), d.reason, d.id) for d in documents]
    return pd.DataFrame(rows, columns=["filename", "title", "pages", "state", "reason", "document_id"])


@contextmanager
def _as_file(questions: Questions) -> Iterator[Path]:
    """Give the path of a file of questions; rows are written into one for as long as it is open."""
    if isinstance(questions, str | Path):
        yield Path(questions).expanduser()
        return
    rows: Any = questions
    if not isinstance(questions, Sequence):  # a frame's gaps are no values
        found = json.loads(questions.convert_dtypes().to_json(orient="records"))
        rows = [{name: value for name, value in row.items() if value is not None} for row in found]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions.jsonl"
        path.write_text("".join(f"{json.dumps(dict(row))}\n" for row in rows), "utf-8")
        yield path


def _with_bar(events: Iterable[Any]) -> Iterator[Any]:
    """Yield the events but for progress, which a bar shows in a terminal or notebook."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without ipywidgets gets bars of text
        from tqdm.auto import tqdm

    bar = None
    try:
        for event in events:
            if not isinstance(event, Progress):
                yield event
                continue
            bar = bar if bar is not None else tqdm(leave=False, delay=0.5)
            bar.total = event.total or None
            bar.set_description(event.phase, refresh=False)
            bar.update(event.done - bar.n)
    finally:
        if bar is not None:
            bar.close()
