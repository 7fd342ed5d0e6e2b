"""What a run of the Evaluate tab asks: questions, systems, and how the answers are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.protocols.gold import forms
from pdfqa_core.protocols.runs import GIVEN, GOLD, NONE, PREDICTED, SEARCH, CaseFile, drawn, run_protocols
from pdfqa_core.services import SAMPLE, RunRequest, Services
from pdfqa_core.services.systems import run_grid, shared_words
from pdfqa_core.ui.components import error_html, render, time_left
from pdfqa_core.ui.evaluate_setup import SAMPLE_QUESTIONS
from pdfqa_core.ui.session import Session

EVIDENCE = {"the system searches": SEARCH, "passages are given": GIVEN, "closed book": NONE}
HISTORIES = {"gold answers": GOLD, "the system's own": PREDICTED}
SAMPLE_MISSING = "These questions are about the sample report: add it on the Documents tab (Try the sample)."
OWN_HINT = f"Bring a file of questions with gold answers. {forms()}."


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of the left column, in their order."""

    protocol: str
    source: str
    upload: str | None
    retrievers: Sequence[str]
    chunkers: Sequence[str]
    readers: Sequence[str]
    evidence: Sequence[str]
    rewriters: Sequence[str]
    histories: Sequence[str]
    limit: float | None
    seed: float | None
    as_in_sources: bool
    bertscore: bool
    judge: bool
    calibrate: bool

    @property
    def path(self) -> Path:
        """The file of questions. Raises UsageError where there is none."""
        if self.source == SAMPLE_QUESTIONS:
            return SAMPLE / "questions.jsonl"
        if not self.upload:
            raise UsageError("There are no questions yet.", OWN_HINT)
        return Path(self.upload)

    def request(self, session: Session) -> RunRequest:
        """Return what is to be run. Raises UsageError."""
        chosen = {
            "retrievers": self.retrievers, "chunkers": self.chunkers, "readers": self.readers,
            "rewriters": self.rewriters,
        }  # fmt: skip
        judged = self.judge or self.protocol == "judge"
        options = {
            "bertscore": "yes" if self.bertscore else "", "judge": "yes" if self.judge else "",
            "judge_prompt": "strict" if judged and self.calibrate else "",
            "calibrate": "yes" if judged and self.calibrate else "",
        }  # fmt: skip
        histories = tuple(HISTORIES[one] for one in self.histories) if self.protocol == "conversations" else ()
        return RunRequest(
            self.protocol, self.path, run_grid(session.settings, chosen), tuple(EVIDENCE[one] for one in self.evidence),
            histories, max(0, int(self.limit or 0)), max(0, int(self.seed or 0)),
            "seed" if self.as_in_sources else "", options={key: one for key, one in options.items() if one},
            document_ids=session.scope,
        )  # fmt: skip


def read(form: Form) -> CaseFile:
    """Return the questions of the form. Raises UsageError that names file and row."""
    file = run_protocols.get(form.protocol).read(form.path)
    return drawn(file, max(0, int(form.limit or 0)), max(0, int(form.seed or 0)))


def described(form: Form, *, sample: bool) -> str:
    """Return what stands in the file, or what is wrong with it; `sample`: its report is among the documents."""
    try:
        file = read(form)
    except PdfQAError as error:
        empty = form.source != SAMPLE_QUESTIONS and not form.upload
        return render("evaluate_run_data", message=OWN_HINT, name="") if empty else error_html(error)
    cases, notes = file.cases, file.notes
    if form.source == SAMPLE_QUESTIONS and not sample:
        notes = (*notes, SAMPLE_MISSING)
    facts = {
        "with a gold answer": sum(bool(case.references) for case in cases),
        "without an answer in the documents": sum(not case.answerable for case in cases),
        "in a conversation": sum(bool(case.history) for case in cases),
        "with passages of their own": sum(bool(case.contexts) for case in cases),
        "with a recorded answer": sum(case.recorded is not None for case in cases),
    }
    return render(
        "evaluate_run_data", message="", name=file.name, count=len(cases),
        facts=[(count, words) for words, count in facts.items() if count], notes=notes,
    )  # fmt: skip


def planned(services: Services, form: Form, session: Session) -> str:
    """Return the systems that the form makes, how many answers they give, and about how long that takes."""
    try:
        request = form.request(session)
        count = len(read(form).cases)
    except PdfQAError:
        return ""  # the questions say what is wrong
    systems = list(request.systems.values())
    ways = max(1, len(request.evidence)) * max(1, len(request.histories))
    pace = services.runs.seconds_per_answer(session.owner)
    total = count * len(systems) * ways
    words: dict[str, Any] = {
        "names": list(request.systems), "ways": ways, "shared": shared_words(systems) if len(systems) > 1 else "",
        "answers": total, "time": time_left(pace * total).removesuffix(" left") if pace else "",
    }  # fmt: skip
    return render("evaluate_run_systems", **words)
