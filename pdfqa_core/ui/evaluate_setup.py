"""What the Evaluate tab measures: questions with gold, systems, and the choices of the last visit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import gradio as gr

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.protocols.base import AS_IN_THE_SOURCES, DEFAULT
from pdfqa_core.protocols.gold import GoldFile, forms, packed, read_gold, suffixes
from pdfqa_core.protocols.retrieval import EXACT, MATCHES, OVERLAP, PAGE
from pdfqa_core.services import SAMPLE, Outcome, Services
from pdfqa_core.services.recipes import names as strategies
from pdfqa_core.services.systems import grid, with_models
from pdfqa_core.settings import Settings
from pdfqa_core.types import Progress
from pdfqa_core.ui import downloads
from pdfqa_core.ui.components import FIELD_HEIGHT, clicked, error_html, render
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.roles import check_models
from pdfqa_core.ui.session import Session, scope_choice

# ----------------------------------------------------------------------------------------------------
# The file of questions that somebody brings to the Evaluate tab; the files of a BEIR data set become one.

Upload: TypeAlias = str | Sequence[str] | None  # what the file field gives: none, one or several paths

QRELS = ".tsv"
APART = "beir.zip"  # what the files of a data set that are brought apart become


def file_field(label: str, elem_id: str) -> gr.File:
    """Return the field for a file of questions, or for the three files of a BEIR data set."""
    return gr.File(
        label=label,
        file_types=[*suffixes(), QRELS],
        file_count="multiple",
        visible=False,
        height=FIELD_HEIGHT,
        elem_id=elem_id,
    )


def template_button(elem_id: str) -> gr.Button:
    """Return the button that gives a table to be filled in, shown beside the field for a file."""
    return gr.Button("Template (CSV)", size="sm", visible=False, elem_id=elem_id)


def scope_field(elem_id: str) -> gr.Dropdown:
    """Return the field for what the questions of a file are searched in, shown beside the field for the file."""
    return gr.Dropdown(
        [], multiselect=True, label="Search in", info="Empty: all documents", visible=False, elem_id=elem_id
    )


def scope_offered(services: Services, source: str, scope: Sequence[str], session: Session) -> gr.Dropdown:
    """Return the choice of what is searched; out of sight for the sample's questions."""
    return scope_choice(services, session.owner, scope or (), visible=source != SAMPLE_QUESTIONS)


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


# ----------------------------------------------------------------------------------------------------
# What the Evaluate tab measures: questions with gold, systems, and the choices of the last visit.

CHOICES, QUESTIONS, QUESTIONS_NAME = "evaluate.choices", "evaluate.questions", "evaluate.questions.name"
MOST_REMEMBERED = 2_000_000  # characters of a file of questions that is there again when the page is loaded again
SAMPLE_QUESTIONS, OWN_FILE = "The sample's 15 questions", "My file"
ACCEPTED_QUESTIONS = "Accepted questions"  # of the Train tab
SOURCES = (SAMPLE_QUESTIONS, ACCEPTED_QUESTIONS, OWN_FILE)
MATCH_LABELS = {OVERLAP: "overlaps the gold", EXACT: "is the one with most of it", PAGE: "is on its page"}
NONE_ACCEPTED = "No question is accepted yet: make and review some on the Train tab."
OWN_HINT = "Bring a file of questions with the places that answer them: a table, JSON, or a published data set."


def finders(services: Services) -> list[str]:
    """Return what passages can be found by: the retrievers, and those with a model that was trained here."""
    trained = () if services.models.demo else services.models.files.encoders.trained()
    return [*strategies("retriever"), *with_models(trained)]


def counting(defaults: Sequence[Any]) -> tuple[gr.Radio, gr.Checkbox]:
    """Return the fields for what counts as right, and for all as in the sources."""
    match = gr.Radio(
        [(label, name) for name, label in MATCH_LABELS.items()],
        value=defaults[3],
        label="A passage counts if it",
        elem_id="evaluate-match",
    )
    info = "Unchanged paragraphs, each ranked by itself, of which one is right"
    return match, gr.Checkbox(defaults[4], label="As in the sources", info=info, elem_id="evaluate-sources")


def passages_by(services: Services, as_in_sources: bool) -> list[str]:
    """Return what cuts passages as in the sources, or as the program was started."""
    chosen = AS_IN_THE_SOURCES.settings["chunking"]["chunker"] if as_in_sources else services.settings.chunking.chunker
    return [str(chosen)]


def trained_on_field(elem_id: str) -> gr.Checkbox:
    """Return the field that lets models be measured with what they were trained on."""
    info = "Its scores are too good then, and a note in the results says so"
    return gr.Checkbox(False, label="Measure a model also with what it was trained on", info=info, elem_id=elem_id)


def accepted_file(services: Services, owner: str) -> Path:
    """Write the owner's accepted questions and conversations and return where. Raises PdfQAError without any."""
    data, _ = services.training.synthesis.questions_file(owner, [Outcome.ACCEPTED])
    return Path(downloads.write("accepted.jsonl", data))


class Setup:
    """The left column: what is to be measured."""

    def __init__(self, services: Services) -> None:
        self.services = services
        chunkers = [services.settings.chunking.chunker]
        self.defaults = (SAMPLE_QUESTIONS, chunkers, ["bm25", "dense", "hybrid"], OVERLAP, False)

    def file(self, source: str, upload: Upload, owner: str = "") -> GoldFile:
        """Return the chosen questions; the accepted ones are the owner's. Raises PdfQAError where there are none."""
        if source == ACCEPTED_QUESTIONS:
            return replace(read_gold(accepted_file(self.services, owner)), name="accepted questions")
        if source == SAMPLE_QUESTIONS:
            return replace(read_gold(SAMPLE / "questions.jsonl"), name="sample questions")
        if (path := brought(upload)) is None:
            raise UsageError("There are no questions yet.", OWN_HINT)
        return read_gold(path)

    def uploaded(self, source: str, upload: Upload, scope: Sequence[str], session: Session) -> str:
        """Remember a file of text for the next time the page is loaded, and describe its questions."""
        paths = [Path(one) for one in ([upload] if isinstance(upload, str) else upload or ())]
        text, name = _text_of(paths[0]) if len(paths) == 1 else "", paths[0].name if paths else ""
        self.services.people.owners.set_preference(session.owner, QUESTIONS, text)
        self.services.people.owners.set_preference(session.owner, QUESTIONS_NAME, name if text else "")
        return self.questions(source, upload, scope, session)

    def remembered_file(self, owner: str) -> str | None:
        """Return the owner's last file of questions, written to a folder of its own; None if there is none."""
        preference = self.services.people.owners.preference
        text, name = preference(owner, QUESTIONS), preference(owner, QUESTIONS_NAME)
        return downloads.write(Path(str(name)).name, str(text).encode("utf-8", "replace")) if text and name else None

    def of_profile(self, as_in_sources: bool) -> tuple[list[str], str]:
        """Return the passages and what counts as the sources have them, or as at first; both can be changed then."""
        profile = AS_IN_THE_SOURCES if as_in_sources else DEFAULT
        return passages_by(self.services, as_in_sources), profile.gold_match

    def remember(
        self,
        source: str,
        chunkers: Sequence[str],
        retrievers: Sequence[str],
        match: str,
        as_in_sources: bool,
        baseline: str,
        session: Session,
    ) -> None:
        """Remember the choices for the next time the page is loaded."""
        choices = {
            "source": source,
            "chunkers": chunkers,
            "retrievers": retrievers,
            "match": match,
            "as_in_sources": as_in_sources,
            "baseline": baseline,
        }
        self.services.people.owners.set_preference(session.owner, CHOICES, json.dumps(choices))

    def choices(self, owner: str) -> dict[str, Any]:
        """Return the choices of the last visit, without strategies that no longer exist."""
        try:
            found = json.loads(str(self.services.people.owners.preference(owner, CHOICES, "{}")))
        except ValueError:
            return {}
        known = {"chunkers": strategies("chunker"), "retrievers": finders(self.services)}
        kept = {key: [name for name in found.get(key, ()) if name in names] for key, names in known.items()}
        if found.get("source") not in SOURCES or not all(kept.values()):
            return {}
        match = found.get("match") if found.get("match") in MATCHES else OVERLAP
        known_too = {"match": match, "as_in_sources": found.get("as_in_sources") is True}
        return {**kept, **known_too, "source": found["source"], "baseline": str(found.get("baseline", ""))}

    def searched(self, source: str, scope: Sequence[str], session: Session) -> tuple[str, ...]:
        """Return the documents that are searched, empty: all; the sample's questions are about the sample."""
        if source != SAMPLE_QUESTIONS:
            return self.services.documents.collections.searched(session.owner, scope).document_ids
        return self.services.documents.document_ids(session.owner, ["harbour-heat.pdf"])

    def offered(self, source: str, scope: Sequence[str], session: Session) -> gr.Dropdown:
        """Return the choice of what is searched."""
        return scope_offered(self.services, source, scope, session)

    def questions(self, source: str, upload: Upload, scope: Sequence[str], session: Session) -> str:
        """Return a description of the chosen questions: how many there are and how many have gold."""
        plain: dict[str, Any] = {"error": None, "count": 0, "message": "", "offer_sample": False, "forms": ""}
        if source == SAMPLE_QUESTIONS and not self.services.documents.has_sample(session.owner):
            message = "The sample's questions are about the sample report, which is not among your documents."
            return render("evaluate_questions", **{**plain, "message": message, "offer_sample": True})
        if source == ACCEPTED_QUESTIONS and not self.services.training.synthesis.kept.list(
            session.owner, [Outcome.ACCEPTED]
        ):
            return render("evaluate_questions", **{**plain, "message": NONE_ACCEPTED})
        if source == OWN_FILE and not upload:
            return render("evaluate_questions", **{**plain, "message": OWN_HINT, "forms": forms()})
        try:
            file = self.file(source, upload, session.owner)
            searched = self.searched(source, scope, session)
            resolved = self.services.evaluation.gold(session.owner, file, session.settings, searched)
        except PdfQAError as error:
            return render("evaluate_questions", **{**plain, "error": error})
        with_gold = sum(bool(item.gold_spans or item.gold_pages) for item in resolved.items)
        unanswerable = sum(not item.answerable for item in resolved.items)
        return render(
            "evaluate_questions",
            error=None,
            name=file.name,
            count=len(resolved.items),
            gold=with_gold,
            unanswerable=unanswerable,
            notes=resolved.notes,
        )

    def question_clicked(
        self, source: str, upload: Upload, scope: Sequence[str], session: Session, event: gr.EventData
    ) -> Iterator[tuple[str, str]]:
        """Add the sample."""
        message = ""
        try:
            if clicked(event).get("action") == "sample":
                for step in self.services.documents.add_sample(session.owner):
                    if isinstance(step, Progress):
                        yield gr.skip(), work_html(step)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield self.questions(source, upload, scope, session), message

    @staticmethod
    def made(
        chunkers: Sequence[str], retrievers: Sequence[str], as_in_sources: bool, session: Session
    ) -> dict[str, Settings]:
        """Return the chosen systems: the recipe with each of these, what it leaves open as in the sources or not."""
        profile = AS_IN_THE_SOURCES if as_in_sources else DEFAULT
        return grid(profile.set_in(session.settings), chunkers, retrievers)

    def systems(
        self,
        chunkers: Sequence[str],
        retrievers: Sequence[str],
        match: str,
        as_in_sources: bool,
        baseline: str,
        session: Session,
    ) -> tuple[str, gr.Dropdown]:
        """Return the chips of the chosen systems and the choice of a baseline."""
        try:
            systems = self.made(chunkers, retrievers, as_in_sources, session)
            check_models(self.services, systems.values())
            shown = []
            for name, settings in systems.items():
                seconds = self.services.index.seconds(session.owner, settings)
                shown.append((name, f"about {seconds:.0f}\u00a0s to index" if seconds >= 2 else ""))
        except PdfQAError as error:
            return error_html(error), gr.skip()
        names = list(systems)
        value = baseline if baseline in names else names[0]
        told = {
            "as_in_sources": as_in_sources,
            "otherwise": AS_IN_THE_SOURCES.overruled(systems.values()) if as_in_sources else (),
        }
        return render("evaluate_systems", systems=shown, **told), gr.Dropdown(choices=names, value=value)


def _text_of(path: Path) -> str:
    """Return a file's text; "" where it is too long to be remembered, or no text, as a ZIP is."""
    if path.stat().st_size > MOST_REMEMBERED:
        return ""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
