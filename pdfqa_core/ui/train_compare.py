"""Before and after on the Train tab: a trained model beside the one it started from, and putting it into use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.models import TrainedModel
from pdfqa_core.protocols.gold import GoldFile, read_gold
from pdfqa_core.services import SAMPLE, Services
from pdfqa_core.services.training import compared_on
from pdfqa_core.training import BI_ENCODER, Compared
from pdfqa_core.training.card import Row
from pdfqa_core.types import Progress
from pdfqa_core.ui.components import clicked, error_html, render
from pdfqa_core.ui.documents import work_html
from pdfqa_core.ui.encoders import BUNDLED
from pdfqa_core.ui.evaluate_setup import OWN_FILE, OWN_HINT, SAMPLE_QUESTIONS
from pdfqa_core.ui.session import Session
from pdfqa_core.ui.train_parts import Parts, TrainState
from pdfqa_core.ui.train_view import TITLES, Facts, compared_rows

WITH_MEANING = ("dense", "hybrid", "rrf", "convex")  # retrievers that an embedding model is part of


def used_model(session: Session) -> str:
    """Return the name of the model that the recipe compares meanings with; "" for the bundled one."""
    retrieval = session.settings.retrieval
    return retrieval.late_model if retrieval.retriever == "late_interaction" else retrieval.embedding_model


def switched(services: Services, session: Session, model: TrainedModel) -> Session:
    """Return the session with the model in use: its retriever searches now, and is got ready in the background.

    An embedding model is also what the program starts with from now on. Raises PdfQAError on a demo.
    """
    retrieval = session.settings.retrieval
    if model.record.kind == BI_ENCODER:
        services.models.changes().use_encoder(model.name)
        retriever = retrieval.retriever if retrieval.retriever in WITH_MEANING else "hybrid"
        settings = session.settings.changed("retrieval", embedding_model=model.name, retriever=retriever)
    else:
        services.models.changes()  # says no on a demo
        settings = session.settings.changed("retrieval", late_model=model.name, retriever="late_interaction")
    services.preparation.want(session.owner, settings)
    return replace(session, settings=settings)


def _rows(scores: Mapping[str, Compared]) -> dict[str, Row]:
    return {name: (one.before, one.after, one.difference) for name, one in scores.items()}


class Compare:
    """Shows scores before and after, measures questions of people, and puts a model into use."""

    def __init__(self, services: Services, parts: Parts) -> None:
        self.services = services
        self.parts = parts

    def _models(self) -> tuple[TrainedModel, ...]:
        """Return what was trained here; visitors of a demo are shown none."""
        return () if self.services.models.demo else self.services.training.list()

    def _model(self, state: TrainState) -> TrainedModel | None:
        models = sorted(self._models(), key=lambda one: one.record.made_at, reverse=True)
        return next((one for one in models if one.name == state.model), models[0] if models else None)

    def shown(self, facts: Facts, state: TrainState, session: Session) -> dict[Any, Any]:
        """Return the models that were trained here, and the scores of the chosen one."""
        model = self._model(state)
        if model is None:
            html = render("train_compare", models=(), next=facts.next, title=TITLES[facts.next])
            return {self.parts.compared: html, self.parts.people: gr.Column(visible=False), self.parts.state: state}
        record = model.record
        html = render(
            "train_compare", models=self._models(), record=record, used=used_model(session), bundled=BUNDLED
        )  # fmt: skip
        html += render("train_table", title="Held-out questions", rows=compared_rows(_rows(record.compared)))
        for name, scores in record.people.items():
            html += render("train_table", title=f"On {name}", rows=compared_rows(_rows(scores)))
        html += render("train_rounds", rounds=record.rounds, k=record.settings.k)
        html += render("train_notes", record=record, path=model.path)
        return {
            self.parts.compared: html,
            self.parts.people: gr.Column(visible=True),
            self.parts.measured: "",
            self.parts.state: replace(state, model=model.name),
        }

    def clicked(self, state: TrainState, session: Session, event: gr.EventData) -> tuple[TrainState, Session, str]:
        """Open, use or delete a model; returns state, session and what to say."""
        data = clicked(event)
        action = data.get("action")
        if action == "step":
            return replace(state, step=data["step"]), session, ""
        if action not in ("open", "use", "remove"):
            return state, session, ""
        name = data["name"]
        model = next((one for one in self._models() if one.name == name), None)
        if model is None:
            raise UsageError(f"There is no trained model called {name[:60]!r}.", "It may have been deleted.")
        if action == "use":
            session = switched(self.services, session, model)
            how = "late interaction" if model.record.kind != BI_ENCODER else session.settings.retrieval.retriever
            words = f"{name} searches now, by {how}. The documents are got ready for it in the background."
            return replace(state, model=name), session, render("models_said", words=words)
        if action == "remove":
            self.services.models.changes().remove_encoder(name, session.settings.retrieval)
            return replace(state, model=""), session, render("models_said", words=f"{name} was deleted.")
        return replace(state, model=name), session, ""

    # ------------------------------------------------------------ questions of people

    @staticmethod
    def _key(request: gr.Request) -> str:
        return f"train-measure-{request.session_hash}"

    def stop(self, request: gr.Request) -> None:
        """Stop measuring."""
        self.services.tasks.stop(self._key(request))

    @staticmethod
    def _gold(source: str, upload: str | None) -> GoldFile:
        if source == SAMPLE_QUESTIONS:
            return replace(read_gold(SAMPLE / "questions.jsonl"), name="sample questions")
        if source != OWN_FILE or not upload:
            raise UsageError("There are no questions yet.", OWN_HINT)
        return read_gold(Path(upload))

    def measure(
        self, source: str, upload: str | None, state: TrainState, session: Session, request: gr.Request
    ) -> Iterator[tuple[Any, ...]]:
        """Measure the model and its base on questions of people; the evaluation is kept on the Evaluate tab."""
        yield work_html(Progress("reading the questions")), gr.Button(visible=False), gr.Button(visible=True), ""
        message, table = "", ""
        try:
            model = self._model(state)
            if model is None:
                raise UsageError("There is no trained model yet.", "Train one first.")
            gold, systems = self._gold(source, upload), self.services.training.systems(model, session.settings)
            for event in self.services.evaluation.evaluate_retrieval(
                session.owner, gold, systems, document_ids=self._scope(source, session), task=self._key(request)
            ):
                if isinstance(event, Progress):
                    yield work_html(event), gr.skip(), gr.skip(), gr.skip()
                elif isinstance(event, Evaluation):
                    rows = compared_on(event)
                    record = self.services.training.note_people(model, gold.name, rows).record
                    table = render("train_table", title=f"{model.name} on {gold.name}", rows=compared_rows(rows))
                    table += render("train_verdict", record=record)
        except Exception as error:  # noqa: BLE001 - whatever happens, the page can be used again
            message = error_html(error)
        yield message, gr.Button(visible=True), gr.Button(visible=False), table

    def _scope(self, source: str, session: Session) -> tuple[str, ...]:
        """Return the documents that the questions are about; the sample's are about the sample."""
        if source != SAMPLE_QUESTIONS:
            return ()
        if not self.services.documents.has_sample(session.owner):
            raise UsageError("The sample report is not among your documents.", "Add it on the Documents tab.")
        return self.services.documents.document_ids(session.owner, ["harbour-heat.pdf"])
