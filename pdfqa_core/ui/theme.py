"""How the page looks: Gradio's widgets in the colours of `assets/app.css`. System fonts only, nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import gradio as gr
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdfqa_core.study_types import Criterion
from pdfqa_core.ui.components import render

# ----------------------------------------------------------------------------------------------------
# The list of keys that `?` opens on every tab; `assets/keys.js` moves the keys of the open tab to its top.

Keys = tuple[tuple[str, str], ...]  # keys, separated by spaces, and what they do

EVERYWHERE: Keys = (
    ("/", "to the question box of the chat"),
    ("Ctrl+K", "search titles, pages and conversations"),
    ("?", "this list"),
    ("Tab", "to the next list or field; a list is one stop"),
    ("↑ ↓ ← →", "through the tabs, and through a list and its buttons"),
    ("Home End", "first and last of a list"),
    ("Enter", "opens"),
    ("Esc", "stops what runs, closes what is open, leaves a field"),
)
PAGE: Keys = (("← →", "turn the page, while it has the focus"), ("+ −", "larger and smaller"))
OF_TABS: Mapping[str, Keys] = {
    "Documents": PAGE,
    "Retrieval": (("Enter", "searches, in the question"), *PAGE),
    "Chat": (
        ("Enter", "sends the question"),
        ("Shift+Enter", "breaks its line"),
        ("Esc", "stops the answer; leaves a question that is edited as it was"),
        *PAGE,
    ),
    "Evaluate": PAGE,
    "Train": (
        ("A", "accept the question"),
        ("R", "reject it"),
        ("E", "edit it: Enter accepts your words, Esc leaves it"),
        ("S", "skip: it comes back at the end"),
        ("B", "back"),
        ("U", "undo the last decision"),
        *PAGE,
    ),
}
RATING: Keys = (
    ("Enter", "submits a finished item; next unrated"),
    ("Shift+Q Shift+W …", "opens the first, second, … passage whole, with its page"),
    ("Shift+1", "opens the page of the gold passage"),
    ("C", "comment"), ("S", "skip: it comes back at the end"), ("B", "back"),
    ("Backspace", "undo: the item that was submitted last"), ("0", "cannot judge, with a reason"),
    (".", "guideline"), (",", "the turns before this one"), ("-", "finished items are submitted by themselves"),
    ("Esc", "closes the page"),
)  # fmt: skip


def _of_criterion(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """Yield the keys that give a criterion's values."""
    title = criterion.title.lower()
    for keys, label in zip(criterion.keys, criterion.labels, strict=True):
        if len(keys) > 1:
            yield f"{' '.join(keys[:4])} …", f"{title}: the first, second, … is {label}"
        elif keys:
            yield keys, f"{title}: {label}"
    if criterion.rest_key:
        yield criterion.rest_key, f"{title}: the others are {criterion.labels[-1]}"


def shortcuts_html(criteria: Sequence[Criterion]) -> str:
    """Return the list with the keys of all tabs; `criteria` are what the Annotate tab asks."""
    rating = tuple(pair for criterion in criteria for pair in _of_criterion(criterion)) + RATING
    groups = {"Everywhere": EVERYWHERE, **OF_TABS, "Annotate": rating}
    return render(
        "shortcuts", groups=[(name, [(keys.split(), words) for keys, words in rows]) for name, rows in groups.items()]
    )


# ----------------------------------------------------------------------------------------------------
# How the page looks: Gradio's widgets in the colours of `assets/app.css`. System fonts only, nothing is fetched.

ASSETS = Path(__file__).parent / "assets"
SHEETS = (
    "app.css",
    "collections.css",
    "search.css",
    "overview.css",
    "runs.css",
    "rating.css",
    "train.css",
    "invited.css",
)
SCRIPTS = (  # in this order
    "app.js", "kept.js", "keys.js", "places.js", "invited.js", "collections.js", "search.js", "overview.js",
    "rating.js", "unsaved.js",
)  # fmt: skip
FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
NO_LINKS = '<meta name="format-detection" content="telephone=no, email=no, address=no, date=no">'  # phones make them
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")


def theme() -> gr.themes.Base:
    """Return the theme of Gradio's widgets; every colour is a variable of `assets/app.css`."""
    both = {
        "body_background_fill": "var(--pq-ground)",
        "body_text_color": "var(--pq-text)",
        "body_text_color_subdued": "var(--pq-muted)",
        "background_fill_primary": "var(--pq-surface)",
        "background_fill_secondary": "var(--pq-raised)",
        "block_background_fill": "var(--pq-surface)",
        "block_border_color": "var(--pq-line)",
        "block_label_background_fill": "var(--pq-surface)",
        "block_label_text_color": "var(--pq-muted)",
        "block_title_text_color": "var(--pq-text)",
        "block_info_text_color": "var(--pq-muted)",
        "border_color_primary": "var(--pq-line)",
        "border_color_accent": "var(--pq-accent)",
        "color_accent_soft": "var(--pq-accent-soft)",
        "input_background_fill": "var(--pq-surface)",
        "input_border_color": "var(--pq-strong-line)",
        "input_border_color_focus": "var(--pq-accent)",
        "input_placeholder_color": "var(--pq-muted)",
        "button_primary_background_fill": "var(--pq-accent)",
        "button_primary_background_fill_hover": "var(--pq-accent)",
        "button_primary_text_color": "var(--pq-on-accent)",
        "button_primary_border_color": "var(--pq-accent)",
        "button_secondary_background_fill": "var(--pq-surface)",
        "button_secondary_background_fill_hover": "var(--pq-raised)",
        "button_secondary_text_color": "var(--pq-text)",
        "button_secondary_border_color": "var(--pq-strong-line)",
        "checkbox_background_color": "var(--pq-surface)",
        "checkbox_background_color_selected": "var(--pq-accent)",
        "checkbox_border_color": "var(--pq-strong-line)",
        "checkbox_border_color_selected": "var(--pq-accent)",
        "checkbox_label_background_fill": "var(--pq-surface)",
        "checkbox_label_background_fill_selected": "var(--pq-accent-soft)",
        "checkbox_label_text_color": "var(--pq-text)",
        "checkbox_label_text_color_selected": "var(--pq-text)",
        "checkbox_label_border_color": "var(--pq-strong-line)",
        "slider_color": "var(--pq-accent)",
        "link_text_color": "var(--pq-accent)",
        "table_text_color": "var(--pq-text)",
        "error_background_fill": "var(--pq-bad-soft)",
        "error_text_color": "var(--pq-bad)",
        "error_border_color": "var(--pq-bad)",
        "panel_background_fill": "var(--pq-raised)",
    }
    no_dark = {"checkbox_label_border_color"}
    plain = {
        "block_shadow": "none",
        "block_radius": "8px",
        "block_padding": "8px",
        "block_label_text_size": "13px",
        "block_title_text_size": "13px",
        "block_title_text_weight": "550",
        "block_info_text_size": "12.5px",
        "input_radius": "6px",
        "input_border_width": "1px",
        "input_text_size": "14px",
        "input_padding": "8px 10px",
        "button_large_radius": "8px",
        "button_large_text_size": "14px",
        "button_small_radius": "6px",
        "button_medium_radius": "6px",
        "button_primary_shadow": "none",
        "button_secondary_shadow": "none",
        "layout_gap": "12px",
    }
    dark = {f"{name}_dark": value for name, value in both.items() if name not in no_dark}
    base = gr.themes.Base(primary_hue="blue", neutral_hue="stone", font=FONT, font_mono=MONO)
    return base.set(**both, **dark, **plain, block_shadow_dark="none")


def css() -> str:
    """Return the style sheet of the page."""
    return "\n".join(map(_asset, SHEETS))


def head() -> str:
    """Return what goes into the page's head: the scripts with zoom, scrolling, keys and the address."""
    return "".join(f"<script>{_asset(name)}</script>" for name in SCRIPTS)


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


class FirstPaint:
    """Middleware that puts a script at the top of the page: colours and tabs are chosen before anything is drawn.

    `mode` is the one of browsers that chose nothing, "research" or "simple".

    What Gradio is given as `head` it adds only when its own scripts run, after the first picture of the page. What
    stands in the address is for the page itself, and does not reach Gradio, for which `page` names another one.
    """

    def __init__(self, app: ASGIApp, mode: str) -> None:
        self._app = app
        script = f'<script data-mode="{mode}">{_asset("scheme.js")}</script>'
        self._head = f"<head>{NO_LINKS}{script}".encode()
        colours = _asset("app.css").partition("html, body")[0]
        self._colours = f"<style>{colours}</style>".encode()  # of Gradio's page to sign in, which has none of our style

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; of the page itself, the head gets the script."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        start: Message = {}
        body = b""

        async def insert(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if message.get("more_body", False):
                return
            asks = b'"auth_required":true' in body.replace(b": ", b":")
            whole = body.replace(b"<head>", self._head + (self._colours if asks else b""), 1)
            headers = MutableHeaders(raw=start["headers"])
            headers["content-length"] = str(len(whole))
            await send(start)
            await send({**message, "body": whole})

        await self._app({**scope, "query_string": b""}, receive, insert)
