"""What a run of the Evaluate tab asks: questions, systems, and how the answers are scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.llm.hardware import memory
from pdfqa_core.protocols.gold import columns, forms, suffixes
from pdfqa_core.protocols.runs import GIVEN, GOLD, NONE, PREDICTED, SEARCH, CaseFile, drawn, run_protocols
from pdfqa_core.services import SAMPLE, RunRequest, Services
from pdfqa_core.services.strategies import names as strategies
from pdfqa_core.services.systems import run_grid, shared_words
from pdfqa_core.settings import LLMSettings
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import error_html, gigabytes, live_html, render, time_left
from pdfqa_core.ui.evaluate_setup import OWN_FILE, SAMPLE_QUESTIONS
from pdfqa_core.ui.session import Session

WHAT = ("Retrieval", "Answers")
NO_COLUMN = "(none)"
COLUMNS = ("question", "answer", "document", "page", "quote", "type", "follow_up_of", "prediction")
TICK = 1.5  # seconds between two looks at a run that goes on
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
    repeats: float | None
    temperature: float | None
    as_in_sources: bool
    bertscore: bool
    judge: bool
    calibrate: bool
    columns: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The file of questions. Raises UsageError where there is none."""
        if self.source == SAMPLE_QUESTIONS:
            return SAMPLE / "questions.jsonl"
        if not self.upload:
            raise UsageError("There are no questions yet.", OWN_HINT)
        path = Path(self.upload)
        if columns.needed(columns.columns_of(path), self.columns):
            return Path(downloads.write(path.name, columns.mapped(path, self.columns)))
        return path

    @classmethod
    def of(cls, *fields: Any) -> Form:
        """Return the form of the components' values; the last of them are the columns, in the order of COLUMNS."""
        first = len(fields) - len(COLUMNS)
        chosen = {name: "" if one in (None, NO_COLUMN) else str(one)
                  for name, one in zip(COLUMNS, fields[first:], strict=True)}  # fmt: skip
        values: tuple[Any, ...] = (*fields[:first], chosen)
        return cls(*values)

    def request(self, session: Session) -> RunRequest:
        """Return what is to be run. Raises UsageError."""
        chosen = {
            "retrievers": self.retrievers, "chunkers": self.chunkers, "readers": self.readers,
            "rewriters": self.rewriters,
        }  # fmt: skip
        settings = session.settings
        if self.temperature:
            settings = settings.changed("llm", temperature=self.temperature)
        judged = self.judge or self.protocol == "judge"
        options = {
            "bertscore": "yes" if self.bertscore else "", "judge": "yes" if self.judge else "",
            "judge_prompt": "strict" if judged and self.calibrate else "",
            "calibrate": "yes" if judged and self.calibrate else "",
        }  # fmt: skip
        histories = tuple(HISTORIES[one] for one in self.histories) if self.protocol == "conversations" else ()
        return RunRequest(
            self.protocol, self.path, run_grid(settings, chosen), tuple(EVIDENCE[one] for one in self.evidence),
            histories, max(0, int(self.limit or 0)), max(0, int(self.seed or 0)),
            "seed" if self.as_in_sources else "", options={key: one for key, one in options.items() if one},
            document_ids=session.scope, repeats=max(1, int(self.repeats or 1)),
        )  # fmt: skip


def read(form: Form) -> CaseFile:
    """Return the questions of the form. Raises UsageError that names file and row."""
    file = run_protocols.get(form.protocol).read(form.path)
    return drawn(file, max(0, int(form.limit or 0)), max(0, int(form.seed or 0)))


def offered(source: str, upload: str | None) -> tuple[Any, ...]:
    """Return the fold of columns, unfolded where no column says that it holds the question, and its fields."""
    found = columns.columns_of(Path(upload)) if upload and source != SAMPLE_QUESTIONS else ()
    known = columns.guessed(found)
    fields = (
        gr.Dropdown(choices=[NO_COLUMN, *found], value=known.get(name, NO_COLUMN)) for name in COLUMNS
    )  # fmt: skip
    return gr.Accordion(visible=bool(found), open=bool(found) and "question" not in known), *fields


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


def memory_words(wanted: Sequence[LLMSettings]) -> str:
    """Return how much memory the largest of these models takes, and how much is free; "" where it is not known."""
    needed = []
    for llm in wanted:
        if llm.engine == "openai" or is_path(llm.model):
            continue
        try:
            needed.append(entry(llm.model).memory(llm.context_size, llm.batch_size))
        except PdfQAError:
            continue
    if not needed:
        return ""
    return f"about {gigabytes(max(needed))} of memory for the model, {gigabytes(memory().free)} are free now"


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
    asking = [one for one in systems if one.reading.reader != "extractive" or NONE in request.evidence]
    total = count * ways * (len(systems) + len(asking) * (request.repeats - 1))
    words: dict[str, Any] = {
        "names": list(request.systems), "ways": ways, "shared": shared_words(systems) if len(systems) > 1 else "",
        "memory": memory_words([one.llm for one in asking]), "answers": total,
        "time": time_left(pace * total).removesuffix(" left") if pace else "",
    }  # fmt: skip
    return render("evaluate_run_systems", **words)


# ------------------------------------------------------------ the left column


@dataclass(frozen=True, slots=True)
class Fields:
    """The left column, in the order of `Form`."""

    what: gr.Radio
    form: tuple[Any, ...]
    fold: gr.Accordion
    template: gr.Button
    known: gr.HTML
    systems: gr.HTML
    work: gr.HTML
    go: gr.Button
    stop: gr.Button
    timer: gr.Timer


def set_up(services: Services) -> Fields:
    """Build the left column: questions, systems, how the answers are scored."""
    settings = services.settings
    protocols = [(run_protocols.get(name).title, name) for name in run_protocols.names()]

    def several(label: str, choices: Sequence[str], value: str, name: str, info: str | None = None) -> gr.CheckboxGroup:
        return gr.CheckboxGroup(list(choices), value=[value], label=label, info=info, elem_id=f"runs-{name}")

    what = gr.Radio(list(WHAT), value=WHAT[1], label="Measure", elem_id="runs-what")
    protocol = gr.Dropdown(protocols, value="answers", label="Protocol", elem_id="runs-protocol")
    source = gr.Radio([SAMPLE_QUESTIONS, OWN_FILE], value=SAMPLE_QUESTIONS, label="Questions", elem_id="runs-source")
    upload = gr.File(
        label="Questions with gold answers", file_types=list(suffixes()), visible=False, height=96, elem_id="runs-file"
    )
    with gr.Accordion("Columns", open=False, visible=False, elem_id="runs-columns-of") as fold:
        words = {field.name: field.words for field in columns.FIELDS}
        chosen = [
            gr.Dropdown([NO_COLUMN], value=NO_COLUMN, label=words[name], elem_id=f"runs-column-{name}", min_width=120)
            for name in COLUMNS
        ]
    template = gr.Button("Template (CSV)", size="sm", visible=False, elem_id="runs-template")
    known = live_html(elem_id="runs-questions")
    evidence = several("Evidence", tuple(EVIDENCE), next(iter(EVIDENCE)), "evidence")
    retrievers = several("Found by", strategies("retriever"), settings.retrieval.retriever, "retrievers")
    chunkers = several("Passages by", strategies("chunker"), settings.chunking.chunker, "chunkers")
    readers = several("Answered by", ("auto", *strategies("reader")), settings.reading.reader, "readers")
    with gr.Accordion("More", open=False):
        rewriters = several("Follow-up questions", strategies("rewriter"), settings.conversation.rewriter, "rewriters")
        histories = several(
            "Conversation so far", tuple(HISTORIES), next(iter(HISTORIES)), "histories", "of the protocol Conversations"
        )
        limit = gr.Number(0, label="Questions at most (0: all)", precision=0, minimum=0, elem_id="runs-limit")
        seed = gr.Number(0, label="Seed of draw and model", precision=0, minimum=0, elem_id="runs-seed")
        repeats = gr.Number(
            1, label="Repeats with other seeds", info="of systems that sample: a temperature above 0",
            precision=0, minimum=1,
            maximum=20, elem_id="runs-repeats",
        )  # fmt: skip
        temperature = gr.Number(
            0,
            label="Temperature",
            info="0: that of the model's settings",
            minimum=0,
            maximum=2,
            elem_id="runs-temperature",
        )
        boxes = [
            gr.Checkbox(False, label=label, elem_id=f"runs-{name}")
            for name, label in (
                ("sources", "Set and compute all as the sources do"), ("bertscore", "BERTScore too"),
                ("judge", "Judged by the language model too"),
                ("calibrate", "Stricter judge, its threshold from labelled rows"),
            )
        ]  # fmt: skip
    systems, work = live_html(elem_id="runs-systems"), live_html(elem_id="runs-work")
    with gr.Row():
        go = gr.Button("Run", variant="primary", elem_id="runs-go")
        stop = gr.Button("Stop", visible=False, elem_classes=["pq-stop"], elem_id="runs-stop")
    form = (
        protocol, source, upload, retrievers, chunkers, readers, evidence, rewriters, histories, limit, seed, repeats,
        temperature, *boxes, *chosen,
    )  # fmt: skip
    return Fields(what, form, fold, template, known, systems, work, go, stop, gr.Timer(TICK, active=False))
