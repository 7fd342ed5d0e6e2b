"""Building blocks of the tabs: escaped HTML from templates, and an HTML component whose buttons call back.

Every piece of HTML is made by a Jinja template with autoescape on: texts from PDFs, models and people are values,
never markup.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import gradio as gr
from gradio.context import LocalContext
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.text import clean
from pdfqa_core.whole_files import in_words

# A click on anything with data-action reaches the server with all its data-* values. A click inside an element with
# data-own (a link, a text field) does not.
_BRIDGE = """
element.addEventListener('click', (event) => {
  const target = event.target.closest('[data-action], [data-own]');
  if (!target || !element.contains(target) || !target.dataset.action || target.disabled) return;
  if (target.dataset.confirm && !confirm(target.dataset.confirm)) return;
  const data = {...target.dataset};
  if (data.edit) { rename(document.getElementById(data.edit), data); return; }
  trigger('click', data);
});
let naming = null;  // a name that is being typed, and the click that it goes with: new HTML does not end it
const named = (label) => label.isConnected && label.contentEditable === 'plaintext-only';
function rename(label, data, before = null) {
  const old = label.textContent, mine = naming = {label, data, typed: before?.typed ?? old, chosen: before?.chosen};
  label.contentEditable = 'plaintext-only';
  label.focus();
  label.textContent = mine.typed;
  const text = label.firstChild;
  if (mine.chosen && text) getSelection().setBaseAndExtent(text, mine.chosen[0], text, mine.chosen[1]);
  else getSelection().selectAllChildren(label);
  const finish = (keep) => {
    // first: what is no longer edited loses the focus, which would end it twice
    naming = label.oninput = label.onkeyup = label.onmouseup = label.onkeydown = label.onblur = null;
    label.contentEditable = 'false';
    const text = label.textContent.trim();
    if (keep && text && text !== old) trigger('click', {...data, text}); else label.textContent = old;
  };
  label.oninput = label.onkeyup = label.onmouseup = () => {
    const {anchorNode, anchorOffset, focusNode, focusOffset} = getSelection();
    mine.typed = label.textContent;
    mine.chosen = anchorNode === label.firstChild && focusNode === anchorNode ? [anchorOffset, focusOffset] : null;
  };
  label.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === 'Enter') { event.preventDefault(); finish(true); }
    if (event.key === 'Escape') finish(false);
  };
  label.onblur = () => setTimeout(() => { if (naming === mine && named(label)) finish(true); });
}
function goOnNaming() {
  if (!naming || named(naming.label)) return;
  const before = naming, label = document.getElementById(before.data.edit);
  naming = null;
  if (label) rename(label, before.data, before);
}
element.addEventListener('keydown', (event) => {
  const target = event.target.closest('tr[data-action], div[data-action]');
  if (target && target === event.target && (event.key === 'Enter' || event.key === ' ')) {
    event.preventDefault(); target.click();
  }
});
watch('value', () => { goOnNaming(); window.pdfqa?.shown(element); });
window.pdfqa?.mounted(element);
"""


# How events are wired: Gradio's own progress overlay never shows; what is quick does not wait in a queue.
# The browser copies whatever any event could show progress on, for each piece of news of any: so nothing is that.
QUIET: dict[str, Any] = {"show_progress": "hidden", "show_progress_on": []}
AT_ONCE: dict[str, Any] = {**QUIET, "queue": False}
EVERY_CLICK: dict[str, Any] = {"trigger_mode": "multiple"}  # Gradio would drop one that comes while another is answered

FRAME = 0.1  # seconds between two updates of the page while something is written or read
FIELD_HEIGHT = 152  # of the field for a file: its picture and three lines, below the label
CLICK_AGAIN = "Load the page again, then try once more."
UNEXPECTED = "Try again. If it happens once more, report it with the last lines of the program's log."
_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"-?[0-9]{1,9}")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pdfqa_core.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for words in (megabytes, gigabytes, day, clock, plural, time_left, whole_words):
        environment.filters[words.__name__] = words
    return environment


def render(template: str, **values: Any) -> str:
    """Return the HTML of `templates/<template>.html` with all values escaped."""
    return f'<div class="pq">{_environment().get_template(f"{template}.html").render(**values)}</div>'


def live_html(
    value: str = "", *, elem_id: str | None = None, classes: str = "", visible: bool = True, padding: bool = False
) -> gr.HTML:
    """Return an HTML component; its `click` event carries the data-* values of the clicked element."""
    return gr.HTML(
        value,
        elem_id=elem_id,
        elem_classes=["pq-live", *classes.split()],
        js_on_load=_BRIDGE,
        apply_default_css=False,
        visible=visible,
        padding=padding,
        container=False,
    )


class Click(dict[str, str]):
    """The data-* values of a clicked element. Raises UsageError where a value is missing or no number.

    The page always sends what its own buttons have; this is for a page of another version, and for forged clicks.
    """

    def __missing__(self, name: str) -> str:
        raise UsageError(f"The click does not say which {name}.", CLICK_AGAIN)

    def number(self, name: str, default: int = 0) -> int:
        """Return a value as a whole number, `default` if it is missing or empty."""
        text = self.get(name, "").strip()
        if text and not _NUMBER.fullmatch(text):
            raise UsageError(f"The click has no whole number as its {name}, but “{text[:20]}”.", CLICK_AGAIN)
        return int(text) if text else default


def asking_page() -> str:
    """Return the name of the page for which a handler works, empty where none asked."""
    return str(getattr(LocalContext.request.get(None), "session_hash", None) or "")


def clicked(event: gr.EventData) -> Click:
    """Return the data-* values of the clicked element as strings; names arrive in camel case from the browser."""
    data = event._data if isinstance(event._data, Mapping) else {}
    return Click({str(name): clean(str(value)) for name, value in data.items()})


def switch(columns: str, *views: str, chosen: int = 1) -> gr.HTML:
    """Return the switch between columns that phones show instead of putting columns side by side."""
    return gr.HTML(
        render("switch", columns=columns, views=views, chosen=chosen),
        elem_classes=["pq-switch"],
        apply_default_css=False,
        padding=False,
    )


def error_html(error: Exception) -> str:
    """Return the error as a box that stands next to what caused it; an unexpected one is logged with its traceback."""
    error = in_words(error)
    if isinstance(error, PdfQAError):
        return render("error", what=error.what, hint=error.hint)
    _log.error("The page met an unexpected error", exc_info=error)
    what = f"That did not work: something unexpected happened ({type(error).__name__})."
    return render("error", what=what, hint=UNEXPECTED)


def megabytes(size: int) -> str:
    """Return a file size in words: 240 bytes, 12 KB, 3.4 MB."""
    if size < 1000:
        return plural(size, "byte")
    return f"{round(size / 1e3)} KB" if size < 1e6 else f"{size / 1e6:.1f} MB"


def gigabytes(size: int) -> str:
    """Return a size of models and memory in words: 386 MB, 2.5 GB."""
    return f"{size / 1e6:.0f} MB" if size < 999.5e6 else f"{size / 1e9:.1f} GB"


def day(moment: datetime) -> str:
    """Return a day in words: today, yesterday, or its date."""
    days = (datetime.now().astimezone().date() - moment.astimezone().date()).days
    return {0: "today", 1: "yesterday"}.get(days, moment.astimezone().strftime("%d %B %Y").lstrip("0"))


def clock(moment: datetime) -> str:
    """Return the local time of day as 14:05:09."""
    return moment.astimezone().strftime("%H:%M:%S")


def time_left(seconds: float | None) -> str:
    """Return the time left in words: "about 2 min left"; empty where it is not known."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    return f"about {round(seconds / 60)} min left"


def whole_words(text: str) -> Markup:
    """Return text whose words are not broken at their hyphens ("ROUGE-L F" at the space alone)."""
    return Markup(" ").join(Markup('<span class="whole">{}</span>').format(word) for word in text.split())


def plural(count: int, word: str, words: str = "") -> str:
    """Return "1 page", "1,394 pages"."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"
