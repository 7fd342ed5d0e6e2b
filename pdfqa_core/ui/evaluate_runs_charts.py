"""The charts of a run on the Evaluate tab: drawn when they are unfolded, for they take a while."""

from __future__ import annotations

from functools import partial
from typing import Any

import gradio as gr

from pdfqa_core.ui.components import QUIET, live_html
from pdfqa_core.ui.evaluate_runs_results import RunResults, RunsState
from pdfqa_core.ui.session import Session


class Charts:
    """The components: a fold, what is drawn against what, the charts."""

    def __init__(self, results: RunResults) -> None:
        self._results = results
        self.opened = gr.State(False)
        with gr.Accordion("Charts", open=False, elem_id="runs-charts-fold") as self.fold:
            with gr.Row():
                self.measure = gr.Dropdown([], label="Measure", elem_id="runs-chart-measure", min_width=140)
                self.against = gr.Dropdown([], label="Drawn against", elem_id="runs-chart-against", min_width=140)
            self.charts = live_html(elem_id="runs-charts-drawn")

    def wire(self, state: gr.State, session: gr.State) -> None:
        """Draw when the fold is opened, and again when something else is shown."""
        drawn: dict[str, Any] = {
            "inputs": [self.opened, self.measure, self.against, state, session],
            "outputs": [self.opened, self.measure, self.against, self.charts], **QUIET,
        }  # fmt: skip
        self.fold.expand(partial(self._draw, opening=True), **drawn)
        self.fold.collapse(lambda: False, None, self.opened, **QUIET)
        for changed in (state.change, self.measure.input, self.against.input):
            changed(self._draw, **drawn)

    def _draw(
        self, opened: bool, measure: str, against: str, state: RunsState, session: Session, *, opening: bool = False
    ) -> tuple[Any, ...]:
        if not opened and not opening:
            return (gr.skip(),) * 4
        return True, *self._results.charts(state, session, measure or "", against or "")
