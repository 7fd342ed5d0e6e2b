"""What the server remembers of each page that somebody has open: less than Gradio would, and not for ever.

Gradio makes a description of every element for each page that is loaded (1.1 MB, a tenth of a second), keeps the last
value of each in it, for links into the state of a page, which are not made here, and keeps all of them.
"""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder

CLOSED = 3600.0  # seconds after its last request that a page which was left is remembered: it may come back
OPEN = 24 * 3600.0  # the same of a page whose browser is still connected, or never said that it left


class _Nothing(dict[int, Any]):
    """Keeps nothing of what is put into it."""

    def __setitem__(self, key: int, value: Any) -> None:
        """Forget it."""


class PageState(SessionState):
    """The state of one page, without descriptions of its elements."""

    def __init__(self, page: gr.Blocks) -> None:
        super().__init__(SimpleNamespace(default_config=page.default_config, blocks={}))  # type: ignore[arg-type]
        self.config_values = _Nothing()

    def _update_config(self, key: int) -> None:
        """Describe nothing."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Keep no value."""


class PageStates(StateHolder):
    """The states of all pages, by the name under which the server knows a page."""

    @classmethod
    def of(cls, app: App, page: gr.Blocks) -> PageStates:
        """Put one in place of what a running app has, with what is remembered already."""
        states = cls()
        states.session_data, states.time_last_used = app.state_holder.session_data, app.state_holder.time_last_used
        states.set_blocks(page)
        app.state_holder = states
        return states

    def __getitem__(self, session_id: str) -> SessionState:
        """Return the state of a page, a new one where there is none."""
        if session_id not in self.session_data:
            self.session_data[session_id] = PageState(self.blocks)
        return super().__getitem__(session_id)

    def forget(self) -> None:
        """Forget pages that were left."""
        now = datetime.now()
        for name, used in list(self.time_last_used.items()):
            state = self.session_data.get(name)
            idle = (now - used).total_seconds()
            if state is None or idle > (CLOSED if state.is_closed else OPEN):
                with self.lock:
                    self.session_data.pop(name, None)
                    self.time_last_used.pop(name, None)
