"""The choices of a run on the Evaluate tab, and the run that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.llm.hardware import memory
from pdfqa_core.protocols import (
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
from pdfqa_core.protocols.base import SEED, profile_named
from pdfqa_core.protocols.gold import forms, rows
from pdfqa_core.protocols.refusal import with_unanswerable
from pdfqa_core.services import SAMPLE, RunRequest, Services
from pdfqa_core.services.evaluation import memory_for
from pdfqa_core.services.recipes import names as strategies
from pdfqa_core.services.run_asking import TRAINED_ON, YES
from pdfqa_core.services.systems import run_grid, shared_words
from pdfqa_core.settings import LLMSettings
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import error_html, gigabytes, live_html, render, time_left
from pdfqa_core.ui.evaluate_setup import (
    ACCEPTED_QUESTIONS,
    NONE_ACCEPTED,
    OWN_FILE,
    SAMPLE_QUESTIONS,
    SOURCES,
    Upload,
    accepted_file,
    brought,
    file_field,
    finders,
    scope_field,
    template_button,
    trained_on_field,
)
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
    "encoder": ("answers", "conversations"), "beta": ("answers", "conversations"),
    "judge": ("answers", "conversations"), "calibrate": JUDGED, "nli": ("entailment",), "disambig": ("asqa",),
    "ner": ("asqa",), "qa_model": ("asqa",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of the left column, in their order; `models` empty: the one in use."""

    protocol: str
    source: str
    upload: Upload
    scope: Sequence[str]
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
    trained_on: bool
    as_in_sources: bool
    bertscore: bool
    encoder: str
    beta: float | None
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
        chosen = {
            name: "" if one in (None, NO_COLUMN) else str(one)
            for name, one in zip(COLUMNS, values[first:], strict=True)
        }
        given: tuple[Any, ...] = (*values[:first], chosen)
        return cls(*given)

    def filled(self, services: Services, owner: str) -> Form:
        """Return the form with the owner's accepted questions for its file, where these are chosen."""
        if self.source != ACCEPTED_QUESTIONS:
            return self
        try:
            return replace(self, upload=str(accepted_file(services, owner)))
        except PdfQAError:
            return replace(self, upload=None)

    @property
    def path(self) -> Path:
        """The file of questions. Raises UsageError where there is none."""
        if self.source == SAMPLE_QUESTIONS:
            return SAMPLE / "questions.jsonl"
        if (path := brought(self.upload)) is None:
            hint = NONE_ACCEPTED if self.source == ACCEPTED_QUESTIONS else OWN_HINT
            raise UsageError("There are no questions yet.", hint)
        if rows.needed(rows.columns_of(path), self.columns):
            return Path(downloads.write(path.name, rows.mapped(path, self.columns)))
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
        own = (getattr(self, name).strip() for name in ("encoder", "nli", "ner", "qa_model") if self.concerns(name))
        return (*self.models, *filter(None, own))

    def request(self, session: Session) -> RunRequest:
        """Return what is to be run. Raises UsageError."""
        chosen = {
            "extractors": ["" if one == AS_READ else one for one in self.extractors],
            "retrievers": self.retrievers,
            "chunkers": self.chunkers,
            "readers": self.readers,
            "rewriters": self.rewriters,
            "models": self.models,
        }
        profile = SEED if self.as_in_sources else ""
        settings = profile_named(profile).set_in(session.settings)
        if self.temperature:
            settings = settings.changed("llm", temperature=self.temperature)
        histories = tuple(HISTORIES[one] for one in self.histories) if self.concerns("histories") else ()
        return RunRequest(
            self.protocol,
            self.path,
            run_grid(settings, chosen),
            tuple(EVIDENCE[one] for one in self.evidence),
            histories,
            _count(self.limit),
            _count(self.seed),
            profile,
            unanswerable=self.others,
            options=self._options(),
            document_ids=() if self.source == SAMPLE_QUESTIONS else tuple(self.scope or ()),
            repeats=max(1, _count(self.repeats)),
        )

    def _options(self) -> dict[str, str]:
        strict = self.calibrate and self.concerns("calibrate") and (self.judge or self.protocol == "judge")
        read = self.disambig == READ
        ticked = {
            "bertscore": "yes" if self.bertscore or self.encoder.strip() else "",
            "judge": "yes" if self.judge else "",
            "nli": self.nli.strip(),
            "disambig": DISAMBIG[self.disambig],
            "ner": "" if read else self.ner.strip(),
            "qa_model": self.qa_model.strip() if read else "",
        }
        given = {name: value for name, value in ticked.items() if value and self.concerns(name)}
        if self.concerns("encoder") and self.encoder.strip():
            given["bertscore_encoder"] = self.encoder.strip()
        if self.concerns("beta") and self.beta and self.beta != 1:
            given["beta"] = f"{self.beta:g}"
        if self.trained_on:
            given[TRAINED_ON] = YES
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


# ----------------------------------------------------------------------------------------------------
# What a run of the Evaluate tab asks: questions, systems, and how the answers are scored.

WHAT = ("Retrieval", "Answers")
TICK = 1.5  # seconds between two looks at a run that goes on
SAMPLE_MISSING = "These questions are about the sample report: add it on the Documents tab (Try the sample)."


def offered(source: str, upload: Upload) -> tuple[Any, ...]:
    """Return the fold of columns, unfolded where no column says that it holds the question, and its fields."""
    try:
        path = brought(upload) if source == OWN_FILE else None
    except PdfQAError:
        path = None  # what is wrong is said where the file is described
    found = rows.columns_of(path) if path else ()
    known = rows.guessed(found)
    fields = (gr.Dropdown(choices=[NO_COLUMN, *found], value=known.get(name, NO_COLUMN)) for name in COLUMNS)
    return gr.Accordion(visible=bool(found), open=bool(found) and "question" not in known), *fields


def described(form: Form, *, sample: bool) -> str:
    """Return what stands in the file, or what is wrong with it; `sample`: its report is among the documents."""
    try:
        file = read(form)
    except PdfQAError as error:
        empty = form.source == OWN_FILE and not form.upload
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
        "evaluate_run_data",
        message="",
        name=file.name,
        count=len(cases),
        facts=[(count, words) for words, count in facts.items() if count],
        notes=notes,
    )


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
    took = services.evaluation.seconds_for(session.owner, asked, quoted) if asked or quoted else None
    words: dict[str, Any] = {
        "names": list(request.systems) if ways else ["recorded answers"],
        "ways": ways,
        "shared": shared_words(systems) if ways and len(systems) > 1 else "",
        "memory": memory_words([one.llm for one in asking]),
        "answers": total,
        "time": time_left(took).removesuffix(" left") if took is not None else "",
    }
    return render("evaluate_run_systems", **words)


# ------------------------------------------------------------ what a protocol needs


def suited(services: Services, form: Form, session: Session) -> gr.CheckboxGroup:
    """Return the choice of evidence: what the protocol knows, and of it what suits the file."""
    known = run_protocols.get(form.protocol).evidence
    choices = [words for words, name in EVIDENCE.items() if name in known]
    try:
        name = services.evaluation.suited(session.owner, form.protocol, read(form))
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


class Fields:
    """The left column: questions, systems, how the answers are scored; `form` in the order of `Form`."""

    def __init__(self, services: Services) -> None:
        protocols = [(run_protocols.get(name).title, name) for name in run_protocols.names()]
        self.what = gr.Radio(list(WHAT), value=WHAT[1], label="Measure", elem_id="runs-what")
        form: dict[str, Any] = {
            "protocol": gr.Dropdown(
                protocols,
                value="answers",
                label="Protocol",
                info=run_protocols.words("answers"),
                elem_id="runs-protocol",
            ),
            "source": gr.Radio(list(SOURCES), value=SAMPLE_QUESTIONS, label="Questions", elem_id="runs-source"),
            "upload": file_field("Questions with gold answers", "runs-file"),
        }
        with gr.Accordion("Columns", open=False, visible=False, elem_id="runs-columns-of") as self.fold:
            words = {field.name: field.words for field in rows.FIELDS}
            self.columns = [
                gr.Dropdown(
                    [NO_COLUMN], value=NO_COLUMN, label=words[name], elem_id=f"runs-column-{name}", min_width=120
                )
                for name in COLUMNS
            ]
        self.template = template_button("runs-template")
        form |= {"scope": scope_field("runs-scope")}
        self.known = live_html(elem_id="runs-questions")
        form |= {"unanswerable": file_field("More questions, none of which the documents answer", "runs-unanswerable")}
        form |= _systems(services)
        with gr.Accordion("More settings", open=False, elem_id="runs-more"):
            form |= _more(services)
        with gr.Accordion("Scoring", open=False, elem_id="runs-scoring"):
            form |= _scoring()
        self.systems, self.work = live_html(elem_id="runs-systems"), live_html(elem_id="runs-work")
        with gr.Row():
            self.go = gr.Button("Run", variant="primary", elem_id="runs-go")
            self.stop = gr.Button("Pause", visible=False, elem_classes=["pq-stop"], elem_id="runs-stop")
        self.timer = gr.Timer(TICK, active=False)
        self.form = [*(form[name] for name in FORM), *self.columns]
        self.of_protocol = [form[name] for name in OF_PROTOCOL]

    def field(self, name: str) -> Any:
        """Return the component of a field of the form."""
        return self.form[FORM.index(name)]


def _several(
    label: str, choices: Sequence[str], value: str, name: str, info: str | None = None, *, visible: bool = True
) -> gr.CheckboxGroup:
    return gr.CheckboxGroup(
        list(choices), value=[value], label=label, info=info, visible=visible, elem_id=f"runs-{name}"
    )


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
            0,
            label="Questions",
            info="how many; 0: all",
            precision=0,
            minimum=0,
            elem_id="runs-limit",
            min_width=120,
        )
        seed = gr.Number(
            0,
            label="Seed",
            info="of draw and model",
            precision=0,
            minimum=0,
            elem_id="runs-seed",
            min_width=120,
        )
    models = gr.Dropdown(
        [],
        multiselect=True,
        label="Language models",
        elem_id="runs-models",
        info="Each makes another system; empty: the model in use",
    )
    extractors = _several(
        "Text",
        (AS_READ, *strategies("extractor")),
        extractor,
        "extractors",
        "How pages are read; with another extractor they are read again first",
    )
    rewriters = _several(
        "Follow-up questions",
        strategies("rewriter"),
        settings.conversation.rewriter,
        "rewriters",
        "How a follow-up question is completed",
    )
    histories = _several(
        "Conversation so far",
        tuple(HISTORIES),
        next(iter(HISTORIES)),
        "histories",
        "Whose answers it contains",
        visible=False,
    )
    with gr.Row():
        repeats = gr.Number(
            1,
            label="Repeats",
            info="other seeds each time",
            precision=0,
            minimum=1,
            maximum=20,
            elem_id="runs-repeats",
            min_width=120,
        )
        temperature = gr.Number(
            0,
            label="Temperature",
            info="0: as the model is set",
            minimum=0,
            maximum=2,
            step=0.1,
            elem_id="runs-temperature",
            min_width=120,
        )
    return {
        "limit": limit,
        "seed": seed,
        "models": models,
        "extractors": extractors,
        "rewriters": rewriters,
        "histories": histories,
        "repeats": repeats,
        "temperature": temperature,
        "trained_on": trained_on_field("runs-trained-on"),
    }


def _scoring() -> dict[str, Any]:
    def box(label: str, name: str, info: str, **more: Any) -> gr.Checkbox:
        return gr.Checkbox(False, label=label, info=info, elem_id=f"runs-{name}", **more)

    def model(label: str, name: str, info: str, *, visible: bool = False) -> gr.Textbox:
        return gr.Textbox(
            "", label=label, info=info, placeholder="folder or hub name", visible=visible, elem_id=f"runs-{name}"
        )

    return {
        "as_in_sources": box("As in the sources", "sources", "Set and compute all as the papers do"),
        "bertscore": box("BERTScore", "bertscore", "Same meaning in other words"),
        "encoder": model("BERTScore’s encoder", "encoder", "Empty: the bundled one", visible=True),
        "beta": gr.Number(1, label="ROUGE-L’s β", info="weight of recall", minimum=0.01, elem_id="runs-beta"),
        "judge": box("Judge", "judge", "The language model says whether each answer is right"),
        "calibrate": box("Stricter judge", "calibrate", 'Takes its threshold from rows with "human": true or false'),
        "nli": model("NLI model", "nli", "Decides what follows from what; empty: the language model does"),
        "disambig": gr.Radio(
            list(DISAMBIG), value=ENTITIES, label="Disambig-F1 compares", visible=False, elem_id="runs-disambig"
        ),
        "ner": model("NER model", "ner", "Finds the entities; empty: names and numbers, by rule"),
        "qa_model": model("Reading model", "qa-model", "Reads the answers for Disambig-F1; empty: the language model"),
    }
