"""The choices of a run on the Evaluate tab, and the run that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.gold import columns
from pdfqa_core.protocols.runs import (
    GIVEN,
    GOLD,
    NONE,
    PREDICTED,
    RECORDED,
    SEARCH,
    CaseFile,
    drawn,
    run_protocols,
)
from pdfqa_core.protocols.runs.refusal import with_unanswerable
from pdfqa_core.services import SAMPLE, RunRequest
from pdfqa_core.services.systems import run_grid
from pdfqa_core.ui import downloads
from pdfqa_core.ui.evaluate_data import Upload, brought
from pdfqa_core.ui.evaluate_setup import SAMPLE_QUESTIONS
from pdfqa_core.ui.session import Session

NO_COLUMN = "(none)"
COLUMNS = ("question", "answer", "document", "page", "quote", "type", "follow_up_of", "prediction")
EVIDENCE = {
    "the system searches": SEARCH, "passages are given": GIVEN, "closed book": NONE, "answers of the file": RECORDED,
}  # fmt: skip
HISTORIES = {"gold answers": GOLD, "the system's own": PREDICTED}
AS_READ = "as read"  # of an extractor: the reading that counts for each document
ENTITIES, READ = "entities of both texts", "answers that a model reads"
DISAMBIG = {ENTITIES: "entities", READ: "qa"}
OWN_HINT = "Bring a file of questions with gold answers: a table, JSON, or a published data set."

# Which fields concern some protocols only.
JUDGED = ("answers", "conversations", "judge")
OF_PROTOCOL: Mapping[str, tuple[str, ...]] = {
    "histories": ("conversations",), "unanswerable": ("refusal",), "bertscore": ("answers", "conversations"),
    "judge": ("answers", "conversations"), "calibrate": JUDGED, "nli": ("entailment",), "disambig": ("asqa",),
    "ner": ("asqa",), "qa_model": ("asqa",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of the left column, in their order; `models` empty: the one in use."""

    protocol: str
    source: str
    upload: Upload
    unanswerable: Upload
    evidence: Sequence[str]
    retrievers: Sequence[str]
    chunkers: Sequence[str]
    readers: Sequence[str]
    limit: float | None
    seed: float | None
    models: Sequence[str]
    extractors: Sequence[str]
    rewriters: Sequence[str]
    histories: Sequence[str]
    repeats: float | None
    temperature: float | None
    as_in_sources: bool
    bertscore: bool
    judge: bool
    calibrate: bool
    nli: str
    disambig: str
    ner: str
    qa_model: str
    columns: Mapping[str, str]

    @classmethod
    def of(cls, *values: Any) -> Form:
        """Return the form of the components' values; the last of them are the columns, in the order of COLUMNS."""
        first = len(values) - len(COLUMNS)
        chosen = {name: "" if one in (None, NO_COLUMN) else str(one)
                  for name, one in zip(COLUMNS, values[first:], strict=True)}  # fmt: skip
        given: tuple[Any, ...] = (*values[:first], chosen)
        return cls(*given)

    @property
    def path(self) -> Path:
        """The file of questions. Raises UsageError where there is none."""
        if self.source == SAMPLE_QUESTIONS:
            return SAMPLE / "questions.jsonl"
        if (path := brought(self.upload)) is None:
            raise UsageError("There are no questions yet.", OWN_HINT)
        if columns.needed(columns.columns_of(path), self.columns):
            return Path(downloads.write(path.name, columns.mapped(path, self.columns)))
        return path

    def concerns(self, name: str) -> bool:
        """Return whether a field has a meaning for the chosen protocol; the others are out of sight, and left out."""
        return self.protocol in OF_PROTOCOL.get(name, (self.protocol,))

    @property
    def others(self) -> Path | None:
        """The file of questions that the documents do not answer, None without one."""
        return brought(self.unanswerable) if self.concerns("unanswerable") else None

    @property
    def named_models(self) -> tuple[str, ...]:
        """The models that are chosen here, in place of the one in use and of what needs none."""
        own = (getattr(self, name).strip() for name in ("nli", "ner", "qa_model") if self.concerns(name))
        return (*self.models, *filter(None, own))

    def request(self, session: Session) -> RunRequest:
        """Return what is to be run. Raises UsageError."""
        chosen = {
            "extractors": ["" if one == AS_READ else one for one in self.extractors], "retrievers": self.retrievers,
            "chunkers": self.chunkers, "readers": self.readers, "rewriters": self.rewriters, "models": self.models,
        }  # fmt: skip
        settings = session.settings
        if self.temperature:
            settings = settings.changed("llm", temperature=self.temperature)
        histories = tuple(HISTORIES[one] for one in self.histories) if self.concerns("histories") else ()
        return RunRequest(
            self.protocol, self.path, run_grid(settings, chosen), tuple(EVIDENCE[one] for one in self.evidence),
            histories, _count(self.limit), _count(self.seed), "seed" if self.as_in_sources else "",
            unanswerable=self.others, options=self._options(), document_ids=session.scope,
            repeats=max(1, _count(self.repeats)),
        )  # fmt: skip

    def _options(self) -> dict[str, str]:
        strict = self.calibrate and self.concerns("calibrate") and (self.judge or self.protocol == "judge")
        read = self.disambig == READ
        ticked = {
            "bertscore": "yes" if self.bertscore else "", "judge": "yes" if self.judge else "",
            "nli": self.nli.strip(), "disambig": DISAMBIG[self.disambig], "ner": "" if read else self.ner.strip(),
            "qa_model": self.qa_model.strip() if read else "",
        }  # fmt: skip
        given = {name: value for name, value in ticked.items() if value and self.concerns(name)}
        return given | ({"judge_prompt": "strict", "calibrate": "yes"} if strict else {})


FORM = tuple(field.name for field in fields(Form))[:-1]  # the fields that are components by themselves


def _count(number: float | None) -> int:
    return max(0, int(number or 0))


def read(form: Form) -> CaseFile:
    """Return the questions of the form. Raises UsageError that names file and row."""
    file = _read(form.protocol, *_known(form.path))
    if (others := form.others) is not None:
        file = with_unanswerable(file, _read(form.protocol, *_known(others)))
    return drawn(file, _count(form.limit), _count(form.seed))


def _known(path: Path) -> tuple[Path, int]:
    return path, path.stat().st_mtime_ns if path.exists() else 0


@lru_cache(maxsize=4)
def _read(protocol: str, path: Path, changed: int) -> CaseFile:
    """Return the questions of a file; `changed` is when that was, for every choice on the page asks for them."""
    return run_protocols.get(protocol).read(path)
