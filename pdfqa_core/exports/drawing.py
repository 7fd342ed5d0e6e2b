"""How figures look: colours, lines and texts of all charts, and their bytes as a file or as SVG for a page.

Colours are those of Okabe and Ito 2008, which colour-blind readers tell apart; hatches and markers tell series apart
on a black-and-white printer.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")  # of files
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "ooo")
MARKERS = ("o", "s", "^", "D", "v", "P")
_INK, _LINE = "#1c1b1a", "#c9c5be"
_PAGE_INK, _PAGE_LINE = "#010203", "#040506"  # colours that a page's style sheet replaces


def figure_file(kind: str, salt: str, draw: Callable[[], Figure]) -> bytes:
    """Return what `draw` makes as a file on white, the same for the same figure; `salt` keeps apart what it names.

    `kind` is one of FORMATS; PNG has 200 dots an inch. Raises UsageError for another.
    """
    if kind not in FORMATS:
        raise UsageError(f"Figures are not written as {kind!r}.", f"Choose one of: {', '.join(FORMATS)}.")
    with _looks(_INK, _LINE):
        return _written(draw(), kind, salt=salt, ground="white")


def page_svg(
    title: str, prefix: str, draw: Callable[[Axes], None], size: tuple[float, float], *, polar: bool = False
) -> str:
    """Return one chart as SVG for a page: ink is `currentColor`, lines are the variable `--line`; `size` in inches.

    `title` names it for screen readers, `prefix` keeps its ids apart from those of the page's other charts.
    """
    with _looks(_PAGE_INK, _PAGE_LINE):
        made = new_figure(*size)
        draw(made.add_subplot(projection="polar" if polar else None))
        svg = _written(made, "svg", salt=title).decode()
    return _for_page(svg, prefix, title)


@contextmanager
def _looks(dark: str, line: str) -> Iterator[None]:
    """Draw in two colours, names as they are, $ too, and without a warning for each character that the font lacks."""
    import matplotlib as mpl

    inked = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
    looks: Any = {
        **dict.fromkeys(inked, dark), "axes.edgecolor": line, "grid.color": line, "grid.linewidth": 0.6,
        "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
        "axes.titlesize": 10.5, "axes.labelsize": 8.5, "xtick.labelsize": 8, "ytick.labelsize": 8,
        "text.parse_math": False, "axes.formatter.use_mathtext": False,
    }  # fmt: skip
    with mpl.rc_context(looks), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def ink() -> str:
    """Return the colour of texts that is set."""
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, for which no window is opened."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def _written(made: Figure, kind: str, *, salt: str, ground: str = "none") -> bytes:
    """Return the file's bytes on a ground of this colour, the same for the same figure: no date, no random ids."""
    import matplotlib as mpl

    metadata: Mapping[str, None] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    data = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": salt, "hatch.linewidth": 0.5, "pdf.fonttype": 42}):
        made.savefig(
            data, format=kind, dpi=200, transparent=ground == "none", facecolor=ground, metadata=metadata,
        )  # fmt: skip
    return data.getvalue()


def _for_page(svg: str, prefix: str, title: str) -> str:
    """Return the SVG element alone, its ids unique on the page, named for screen readers, in the page's colours."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title)}" ', 1)
    for colour, name in ((_PAGE_INK, "currentColor"), (_PAGE_LINE, "var(--line)")):
        svg = svg.replace(colour, name)
    return svg
