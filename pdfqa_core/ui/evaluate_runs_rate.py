"""*Rate these*: makes a study of the questions that the Evaluate tab shows of a run."""

from __future__ import annotations

import gradio as gr

from pdfqa_core.errors import PdfQAError
from pdfqa_core.protocols.study_definition import PRESETS
from pdfqa_core.ui.components import QUIET, error_html, live_html, plural, render
from pdfqa_core.ui.evaluate_runs_results import RunResults, RunsState
from pdfqa_core.ui.evaluate_runs_view import wanted_items
from pdfqa_core.ui.session import Session

ASKED = ("answers", "rag", "pairwise")  # those that need no rewriting


class Rate:
    """The components: a fold with how many are drawn, by which seed, and what is asked."""

    def __init__(self, results: RunResults) -> None:
        self._results = results
        with gr.Accordion("Rate these", open=False, elem_id="runs-rate"):
            with gr.Row():
                self.name = gr.Textbox(
                    label="Name of the study", max_length=120, placeholder="that of the run", min_width=160,
                    elem_id="runs-rate-name",
                )  # fmt: skip
                self.preset = gr.Dropdown(
                    [(f"{PRESETS[one].title}: {PRESETS[one].words}", one) for one in ASKED], value=ASKED[0],
                    label="What is asked", min_width=160, elem_id="runs-rate-preset",
                )  # fmt: skip
            with gr.Row():
                self.n = gr.Number(
                    0, label="How many are drawn (0: all)", precision=0, minimum=0, min_width=120, elem_id="runs-rate-n"
                )
                self.seed = gr.Number(1, label="Seed: the same draws the same", precision=0, min_width=120)
            self.make = gr.Button(
                "Make a study of the questions shown below", size="sm", elem_id="runs-rate-make", scale=0
            )
            self.said = live_html(elem_id="runs-rate-said")

    def wire(self, state: gr.State, session: gr.State) -> None:
        """Make the study when the button is pressed."""
        self.make.click(
            self._made, [self.name, self.preset, self.n, self.seed, state, session], self.said, **QUIET
        )  # fmt: skip

    def _made(
        self, name: str, preset: str, n: float | None, seed: float | None, state: RunsState, session: Session
    ) -> str:
        services = self._results.services
        try:
            run = services.runs.get(session.owner, state.run)
            evaluation = self._results.evaluation(state, session)
            measure = state.sort or evaluation.measures[0]
            items = evaluation.systems[0].items
            chosen = [items[place].id for place in wanted_items(evaluation, measure, state.wanted)]
            if not chosen:
                raise PdfQAError("No question is shown, so there is nothing to rate.", "Show other questions.")
            study = services.run_studies.make(
                session.owner, name.strip() or run.name, state.runs, item_ids=chosen,
                systems=(state.baseline, state.other) if state.other else (), n=max(0, int(n or 0)),
                seed=int(seed or 0), preset=preset,
            )  # fmt: skip
        except PdfQAError as error:
            return error_html(error)
        return render(
            "said", text=f"“{study.name}” is made, with {plural(len(study.turn_ids), 'item')} of "
            f"{plural(len(chosen), 'question')}; who rates does not see which system answered. It is on the Annotate "
            "tab.",
        )  # fmt: skip
