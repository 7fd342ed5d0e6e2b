"""How the page looks: Gradio's widgets in the colours of `assets/app.css`. System fonts only, nothing is fetched."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    """Middleware that puts a script at the top of the page: light or dark is decided before anything is drawn.

    What Gradio is given as `head` it adds only when its own scripts run, after the first picture of the page. What
    stands in the address is for the page itself, and does not reach Gradio, for which `page` names another one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._head = f"<head>{NO_LINKS}<script>{_asset('scheme.js')}</script>".encode()
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
