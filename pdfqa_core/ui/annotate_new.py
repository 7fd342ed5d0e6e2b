"""The form of the Annotate tab that makes a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.study_definition import DEFAULT_PRESET, PRESETS
from pdfqa_core.services import ConversationSummary, Services
from pdfqa_core.services.study_setup import Source
from pdfqa_core.study_types import Study
from pdfqa_core.ui.chat_view import clocks
from pdfqa_core.ui.components import AT_ONCE, day, plural

CHAT, GENERATED, TABLE, RUN = "chat", "generated", "table", "run"
SOURCES = {
    "answers from the chat": CHAT, "generated answers beside gold answers": GENERATED, "a table (CSV)": TABLE,
    "answers of a stored run": RUN,
}  # fmt: skip
MAHUEVAL = (
    "MaHuEval is manual human evaluation: two people rate the same answers, and neither sees what the other says."
)
MOST_NAMED = 4  # people whom the next step names
STRATA = {"the items as they are": "", "each system its share": "system", "each document its share": "document"}


class NewStudyParts:
    """The components; files have their place only while they are wanted."""

    def __init__(self) -> None:
        with gr.Accordion("New study", open=False, elem_id="annotate-new") as self.fold:
            self.study_name = gr.Textbox(label="Name of the study", max_length=120, elem_id="annotate-study-name")
            self.preset = gr.Dropdown(
                [(f"{one.title}: {one.words}", name) for name, one in PRESETS.items()], value=DEFAULT_PRESET,
                label="What is asked (can be changed afterwards)", info=MAHUEVAL, elem_id="annotate-preset",
            )  # fmt: skip
            self.source = gr.Radio(
                list(SOURCES.items()), value=CHAT, label="What is rated", elem_id="annotate-source"
            )  # fmt: skip
            self.conversations = gr.Dropdown([], multiselect=True, label="Conversations")
            with gr.Column(visible=False) as self.generated:
                self.predictions = gr.File(
                    label="Generated answers (JSON), a file for each system", file_count="multiple", visible=False,
                    file_types=[".json", ".jsonl"], elem_id="annotate-predictions", height=96,
                )  # fmt: skip
                self.gold = gr.File(
                    label="Gold answers with their passages (JSON, JSONL, CSV)", visible=False, height=96,
                    file_types=[".json", ".jsonl", ".csv"], elem_id="annotate-gold-file",
                )  # fmt: skip
            self.table = gr.File(
                label="Table: question, answer, gold_answer, gold_passage, file, page, …", visible=False, height=96,
                file_types=[".csv", ".tsv"], elem_id="annotate-table",
            )  # fmt: skip
            self.run = gr.Dropdown([], label="Run of the Evaluate tab", visible=False, elem_id="annotate-run")
            with gr.Row(visible=False) as self.drawing:
                self.n = gr.Number(0, label="How many are drawn (0: all)", precision=0, minimum=0, min_width=120)
                self.seed = gr.Number(1, label="Seed: the same draws the same", precision=0, min_width=120)
                self.by = gr.Dropdown(list(STRATA.items()), value="", label="Drawn from", min_width=160)
            self.names = gr.Textbox(
                label="Who rates", placeholder="Ada, Ben (empty: anybody who types a name)", max_length=2000,
                elem_id="annotate-people",
            )  # fmt: skip
            self.create = gr.Button("Make study", variant="primary", elem_id="annotate-create")
            self.bring = gr.UploadButton(
                "Bring a study from another workspace (ZIP)", file_types=[".zip"], size="sm", elem_id="annotate-bring"
            )
        outputs = [
            self.conversations, self.generated, self.predictions, self.gold, self.table, self.run, self.drawing, self.n,
            self.preset,
        ]  # fmt: skip
        self.source.input(self._shown, [self.source, self.preset], outputs, **AT_ONCE)

    def _shown(self, source: str, preset: str) -> dict[Any, Any]:
        """Show what the chosen source needs; for files the protocol with gold answers is proposed, and 100 of them."""
        files = source == GENERATED
        proposed = "answers" if source != CHAT and preset == DEFAULT_PRESET else preset
        return {
            self.conversations: gr.Dropdown(visible=source == CHAT),
            self.generated: gr.Column(visible=files),
            self.predictions: gr.File(visible=files),
            self.gold: gr.File(visible=files),
            self.table: gr.File(visible=source == TABLE),
            self.run: gr.Dropdown(visible=source == RUN),
            self.drawing: gr.Row(visible=source != CHAT),
            self.n: 100 if source != CHAT else 0,
            self.preset: DEFAULT_PRESET if source == CHAT and preset == "answers" else proposed,
        }

    def filled(self, services: Services, owner: str) -> dict[Any, Any]:
        """Return what there is to choose from."""
        return {
            self.conversations: gr.Dropdown(choices=talks(services, owner)),
            self.run: gr.Dropdown(choices=_runs(services, owner)),
        }

    def emptied(self, services: Services, owner: str) -> dict[Any, Any]:
        """Return the form as it is at first, folded."""
        return {
            **self._shown(CHAT, DEFAULT_PRESET), self.fold: gr.Accordion(open=False), self.study_name: "",
            self.source: CHAT, self.predictions: gr.File(value=None, visible=False),
            self.conversations: gr.Dropdown(choices=talks(services, owner), value=[], visible=True),
            self.gold: gr.File(value=None, visible=False), self.table: gr.File(value=None, visible=False),
            self.run: gr.Dropdown(choices=_runs(services, owner), value=None, visible=False), self.seed: 1, self.by: "",
            self.names: "",
        }  # fmt: skip

    def everything(self) -> list[Any]:
        """Return all that is filled where the form is emptied."""
        return [*self.inputs(), self.fold, self.generated, self.drawing]

    def inputs(self) -> list[Any]:
        """Return what `make` reads, in its order."""
        return [
            self.study_name, self.preset, self.source, self.conversations, self.predictions, self.gold, self.table,
            self.run, self.n, self.seed, self.by, self.names,
        ]  # fmt: skip


def talks(services: Services, owner: str) -> list[tuple[str, str]]:
    """Return the conversations that have answers: with how many, those of one name with their time; the id of each."""
    answered = [one for one in services.conversations.list(owner) if one.turn_count]
    times = clocks(answered)

    def words(one: ConversationSummary) -> str:
        when = f", {day(one.changed_at)} {times[one.id]}" if one.id in times else ""
        return f"{one.title} ({one.turn_count}{when})"

    return [(words(one), one.id) for one in answered]


def _runs(services: Services, owner: str) -> list[tuple[str, str]]:
    return [(one.name, one.id) for one in services.runs.list(owner)]


def made_words(study: Study, names: Sequence[str]) -> str:
    """Return that a study is made, and what to do next; `names` are those who rate it."""
    if not names:
        follows = "type your name below and press “Sign in and rate”; so does everybody who rates."
    elif len(names) > MOST_NAMED:
        follows = f"the {len(names)} who rate each press their name below."
    else:
        who = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        follows = f"{who} {'each press their' if len(names) > 1 else 'presses the button with that'} name below."
    return (
        f"“{study.name}” is made, with {plural(len(study.turn_ids), 'item')}. Next: {follows} Who rates at another "
        "computer gets a link under “Invite people”. What is asked stands under “This study”."
    )


def make(
    services: Services, owner: str, name: str, preset: str, source: str, conversations: list[str],
    predictions: list[str] | None, gold: str | None, table: str | None, run: str | None, n: float | None,
    seed: float | None, by: str, names: str,
) -> Study:  # fmt: skip
    """Make the study that the form describes. Raises UsageError that names file and row."""
    setup = services.study_setup
    if source == CHAT:
        return setup.of_conversations(owner, name, conversations, preset, names)
    if source == RUN:
        if not run:
            raise UsageError("No run is chosen.", "Choose one, or start one on the Evaluate tab (Measure: Answers).")
        return services.run_studies.make(
            owner, name, [run], n=int(n or 0), seed=int(seed or 0), by=by, preset=preset, names=names
        )
    drawn = {"n": int(n or 0), "seed": int(seed or 0), "by": by}
    if source == TABLE:
        chosen = Source(table=Path(table) if table else None, **drawn)  # type: ignore[arg-type]
    else:
        files = tuple(map(Path, predictions or ()))
        chosen = Source(files, Path(gold) if gold else None, **drawn)  # type: ignore[arg-type]
    return setup.of_files(owner, name, chosen, preset, names)
