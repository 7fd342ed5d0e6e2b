"""What a run of the Evaluate tab asks: questions, systems, and how the answers are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.llm.hardware import memory
from pdfqa_core.protocols.gold import columns, forms
from pdfqa_core.protocols.runs import NONE, RECORDED, run_protocols
from pdfqa_core.services import Services
from pdfqa_core.services.run_estimate import memory_for, seconds_for
from pdfqa_core.services.strategies import names as strategies
from pdfqa_core.services.systems import shared_words
from pdfqa_core.settings import LLMSettings
from pdfqa_core.ui.components import error_html, gigabytes, live_html, render, time_left
from pdfqa_core.ui.evaluate_data import Upload, brought, file_field, template_button
from pdfqa_core.ui.evaluate_runs_form import (
    AS_READ,
    COLUMNS,
    DISAMBIG,
    ENTITIES,
    EVIDENCE,
    FORM,
    HISTORIES,
    NO_COLUMN,
    OF_PROTOCOL,
    OWN_HINT,
    READ,
    Form,
    read,
)
from pdfqa_core.ui.evaluate_setup import OWN_FILE, SAMPLE_QUESTIONS, finders
from pdfqa_core.ui.session import Session

WHAT = ("Retrieval", "Answers")
TICK = 1.5  # seconds between two looks at a run that goes on
SAMPLE_MISSING = "These questions are about the sample report: add it on the Documents tab (Try the sample)."


def offered(source: str, upload: Upload) -> tuple[Any, ...]:
    """Return the fold of columns, unfolded where no column says that it holds the question, and its fields."""
    try:
        path = None if source == SAMPLE_QUESTIONS else brought(upload)
    except PdfQAError:
        path = None  # what is wrong is said where the file is described
    found = columns.columns_of(path) if path else ()
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
        return render("evaluate_run_data", message=OWN_HINT, forms=forms(), name="") if empty else error_html(error)
    cases, notes = file.cases, file.notes
    if form.source == SAMPLE_QUESTIONS and not sample:
        notes = (*notes, SAMPLE_MISSING)
    facts = {
        "with a gold answer": sum(bool(case.references) for case in cases),
        "without an answer in the documents": sum(not case.answerable for case in cases),
        "in a conversation": sum(bool(case.history) for case in cases),
        "with passages of their own": sum(bool(case.contexts) for case in cases),
        "with a gold place": sum(bool(case.gold_citations) for case in cases),
        "with a recorded answer": sum(case.recorded is not None for case in cases),
    }
    return render(
        "evaluate_run_data", message="", name=file.name, count=len(cases),
        facts=[(count, words) for words, count in facts.items() if count], notes=notes,
    )  # fmt: skip


def memory_words(wanted: Sequence[LLMSettings]) -> str:
    """Return how much memory the largest of these models takes, and how much is free; "" where it is not known."""
    needed = memory_for(wanted)
    if needed is None:
        return ""
    return f"about {gigabytes(needed)} of memory for the model, {gigabytes(memory().free)} are free now"


def planned(services: Services, form: Form, session: Session) -> str:
    """Return the systems that the form makes, how many answers they give, and about how long that takes."""
    try:
        count = len(read(form).cases)
        request = form.request(session)
    except PdfQAError:
        return ""  # the questions say what is wrong
    systems = list(request.systems.values())
    recorded = RECORDED in request.evidence
    ways = (len(request.evidence) - recorded if request.evidence else 1) * max(1, len(request.histories))
    asking = [one for one in systems if one.reading.reader != "extractive" or NONE in request.evidence] if ways else []
    asked = count * ways * len(asking) * request.repeats
    quoted = count * ways * (len(systems) - len(asking))
    total = asked + quoted + count * recorded
    took = seconds_for(services.runs, session.owner, asked, quoted) if asked or quoted else None
    words: dict[str, Any] = {
        "names": list(request.systems) if ways else ["recorded answers"], "ways": ways,
        "shared": shared_words(systems) if ways and len(systems) > 1 else "",
        "memory": memory_words([one.llm for one in asking]), "answers": total,
        "time": time_left(took).removesuffix(" left") if took is not None else "",
    }  # fmt: skip
    return render("evaluate_run_systems", **words)


# ------------------------------------------------------------ what a protocol needs


def suited(services: Services, form: Form, session: Session) -> gr.CheckboxGroup:
    """Return the choice of evidence: what the protocol knows, and of it what suits the file."""
    known = run_protocols.get(form.protocol).evidence
    choices = [words for words, name in EVIDENCE.items() if name in known]
    try:
        name = services.runs.suited(session.owner, form.protocol, read(form))
    except PdfQAError:
        name = known[0]
    return gr.CheckboxGroup(choices=choices, value=[words for words in choices if EVIDENCE[words] == name])


def of_protocol(protocol: str, disambig: str) -> list[Any]:
    """Return the protocol's field with what it is, and those that concern some only: in view or not.

    The latter in the order of OF_PROTOCOL. Of the two models of Disambig-F1 the one is in view that it asks.
    """
    spare = "ner" if disambig == READ else "qa_model"
    seen = (gr.update(visible=protocol in protocols and name != spare) for name, protocols in OF_PROTOCOL.items())
    return [gr.Dropdown(info=run_protocols.words(protocol)), *seen]


def installed(services: Services, session: Session) -> gr.Dropdown:
    """Return the choice of language models: those on this computer; of a server, names are typed."""
    llm = session.settings.llm
    if llm.engine == "openai":
        return gr.Dropdown(choices=[llm.model] if llm.model else [], allow_custom_value=True)
    files = services.models.files.all(llm)
    return gr.Dropdown(choices=[(one.title, one.name) for one in files if one.path and not one.problem])


# ------------------------------------------------------------ the left column


@dataclass(frozen=True, slots=True)
class Fields:
    """The left column; `form` in the order of `Form`."""

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

    def field(self, name: str) -> Any:
        """Return the component of a field of the form."""
        return self.form[FORM.index(name)]

    @property
    def columns(self) -> tuple[Any, ...]:
        """The choices of columns, in the order of COLUMNS."""
        return self.form[len(FORM) :]

    @property
    def of_protocol(self) -> list[Any]:
        """The fields that concern some protocols only, in the order of OF_PROTOCOL."""
        return [self.field(name) for name in OF_PROTOCOL]


def set_up(services: Services) -> Fields:
    """Build the left column: questions, systems, how the answers are scored."""
    protocols = [(run_protocols.get(name).title, name) for name in run_protocols.names()]
    what = gr.Radio(list(WHAT), value=WHAT[1], label="Measure", elem_id="runs-what")
    form: dict[str, Any] = {
        "protocol": gr.Dropdown(
            protocols, value="answers", label="Protocol", info=run_protocols.words("answers"), elem_id="runs-protocol"
        ),
        "source": gr.Radio(
            [SAMPLE_QUESTIONS, OWN_FILE], value=SAMPLE_QUESTIONS, label="Questions", elem_id="runs-source"
        ),
        "upload": file_field("Questions with gold answers", "runs-file"),
    }
    with gr.Accordion("Columns", open=False, visible=False, elem_id="runs-columns-of") as fold:
        words = {field.name: field.words for field in columns.FIELDS}
        chosen = [
            gr.Dropdown([NO_COLUMN], value=NO_COLUMN, label=words[name], elem_id=f"runs-column-{name}", min_width=120)
            for name in COLUMNS
        ]
    template = template_button("runs-template")
    known = live_html(elem_id="runs-questions")
    form |= {"unanswerable": file_field("More questions, none of which the documents answer", "runs-unanswerable")}
    form |= _systems(services)
    with gr.Accordion("More settings", open=False, elem_id="runs-more"):
        form |= _more(services)
    with gr.Accordion("Scoring", open=False, elem_id="runs-scoring"):
        form |= _scoring()
    systems, work = live_html(elem_id="runs-systems"), live_html(elem_id="runs-work")
    with gr.Row():
        go = gr.Button("Run", variant="primary", elem_id="runs-go")
        stop = gr.Button("Pause", visible=False, elem_classes=["pq-stop"], elem_id="runs-stop")
    fields = (*(form[name] for name in FORM), *chosen)
    return Fields(what, fields, fold, template, known, systems, work, go, stop, gr.Timer(TICK, active=False))


def _several(
    label: str, choices: Sequence[str], value: str, name: str, info: str | None = None, *, visible: bool = True
) -> gr.CheckboxGroup:
    return gr.CheckboxGroup(
        list(choices), value=[value], label=label, info=info, visible=visible, elem_id=f"runs-{name}"
    )  # fmt: skip


def _systems(services: Services) -> dict[str, Any]:
    settings = services.settings
    known = run_protocols.get("answers").evidence
    evidence = [words for words, name in EVIDENCE.items() if name in known]
    return {
        "evidence": _several("Evidence", evidence, evidence[0], "evidence"),
        "retrievers": _several("Found by", finders(services), settings.retrieval.retriever, "retrievers"),
        "chunkers": _several("Passages by", strategies("chunker"), settings.chunking.chunker, "chunkers"),
        "readers": _several("Answered by", ("auto", *strategies("reader")), settings.reading.reader, "readers"),
    }


def _more(services: Services) -> dict[str, Any]:
    settings = services.settings
    extractor = settings.chunking.read_by or AS_READ
    with gr.Row():
        limit = gr.Number(
            0, label="Limit", info="questions; 0: all", precision=0, minimum=0,
            elem_id="runs-limit", min_width=120,
        )  # fmt: skip
        seed = gr.Number(
            0, label="Seed", info="of draw, model", precision=0, minimum=0, elem_id="runs-seed",
            min_width=120,
        )  # fmt: skip
    models = gr.Dropdown(
        [], multiselect=True, label="Language models", elem_id="runs-models",
        info="Each a system of its own, loaded once; none chosen: the one in use",
    )  # fmt: skip
    extractors = _several(
        "Text", (AS_READ, *strategies("extractor")), extractor, "extractors",
        "Who read the pages; another extractor reads them first, visual by OCR",
    )  # fmt: skip
    rewriters = _several(
        "Follow-up questions", strategies("rewriter"), settings.conversation.rewriter, "rewriters",
        "What makes a question of its own of a follow-up",
    )  # fmt: skip
    histories = _several(
        "Conversation so far", tuple(HISTORIES), next(iter(HISTORIES)), "histories", "Whose answers stand in it",
        visible=False,
    )  # fmt: skip
    with gr.Row():
        repeats = gr.Number(
            1, label="Repeats", info="with other seeds", precision=0, minimum=1, maximum=20,
            elem_id="runs-repeats", min_width=120,
        )  # fmt: skip
        temperature = gr.Number(
            0, label="Temperature", info="0: model's own", minimum=0, maximum=2, step=0.1,
            elem_id="runs-temperature", min_width=120,
        )  # fmt: skip
    return {
        "limit": limit, "seed": seed, "models": models, "extractors": extractors, "rewriters": rewriters,
        "histories": histories, "repeats": repeats, "temperature": temperature,
    }  # fmt: skip


def _scoring() -> dict[str, Any]:
    def box(label: str, name: str, info: str, **more: Any) -> gr.Checkbox:
        return gr.Checkbox(False, label=label, info=info, elem_id=f"runs-{name}", **more)

    def model(label: str, name: str, info: str) -> gr.Textbox:
        return gr.Textbox(
            "", label=label, info=info, placeholder="folder or hub name", visible=False, elem_id=f"runs-{name}"
        )  # fmt: skip

    return {
        "as_in_sources": box("As in the sources", "sources", "Set and compute all as the papers do"),
        "bertscore": box("BERTScore", "bertscore", "Same meaning in other words; by the bundled encoder"),
        "judge": box("Judge", "judge", "The language model says whether each answer is right"),
        "calibrate": box(
            "Stricter judge", "calibrate", 'Its threshold comes from rows that say "human": true or false'
        ),
        "nli": model("NLI model", "nli", "Tags what follows from what; empty: the language model does"),
        "disambig": gr.Radio(
            list(DISAMBIG), value=ENTITIES, label="Disambig-F1 compares", visible=False, elem_id="runs-disambig"
        ),
        "ner": model("NER model", "ner", "Finds the entities; empty: names and numbers, by rule"),
        "qa_model": model("Reading model", "qa-model", "Reads the answers for Disambig-F1; empty: the language model"),
    }
