"""How the page looks: Gradio's widgets in the colours of `assets/app.css`. System fonts only, nothing is fetched."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

ASSETS = Path(__file__).parent / "assets"
FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
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
    return (ASSETS / "app.css").read_text(encoding="utf-8")


def head() -> str:
    """Return what goes into the page's head: the scripts with zoom, scrolling and keys."""
    return "".join(f"<script>{(ASSETS / name).read_text(encoding='utf-8')}</script>" for name in ("app.js", "keys.js"))
