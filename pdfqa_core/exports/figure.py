"""The figure of an evaluation in six panels: two groups of means, two distributions, a heatmap, a profile.

Means are bars with their 95 % bootstrap intervals. Colours are those of Okabe and Ito 2008, which colour-blind readers
tell apart; systems differ in hatching and markers too, so that the figure survives a black-and-white printer.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, ScoredSystem
from pdfqa_core.exports.insights import MOST_LISTED
from pdfqa_core.exports.table import is_share, measure_of
from pdfqa_core.metrics.comparison import Comparison, item_values
from pdfqa_core.metrics.statistics import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# ----------------------------------------------------------------------------------------------------
# How figures look: colours, lines and texts of all charts, and their bytes as a file or as SVG for a page.
#
# Colours are those of Okabe and Ito 2008, which colour-blind readers tell apart; hatches and markers tell series
# apart on a black-and-white printer.

FORMATS = ("png", "svg", "pdf")  # of files
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "ooo")
MARKERS = ("o", "s", "^", "D", "v", "P")
_INK, _LINE = "#1c1b1a", "#c9c5be"
_PAGE_INK, _PAGE_LINE = "#010203", "#040506"  # colours that a page's style sheet replaces


def look(place: int) -> dict[str, Any]:
    """Return colour and marker of a series by its place; after six the markers differ."""
    count = len(COLOURS)
    return {"color": COLOURS[place % count], "marker": MARKERS[(place + place // count) % len(MARKERS)]}


def reach(summaries: Sequence[Summary]) -> list[list[float]]:
    """Return how far intervals reach below and above their means, 0 where there is no interval."""
    known = [(one.mean or 0.0, one.low, one.high) for one in summaries]
    below = [0.0 if low is None else max(0.0, mean - low) for mean, low, _ in known]
    return [below, [0.0 if high is None else max(0.0, high - mean) for mean, _, high in known]]


def draw_curve(axes: Axes, points: Sequence[tuple[float, Summary]], place: int, label: str) -> None:
    """Draw a line through points (x, value) with their intervals; those without a mean are left out."""
    known = [(x, one) for x, one in points if one.mean is not None]
    axes.errorbar(
        [x for x, _ in known],
        [one.mean or 0.0 for _, one in known],
        yerr=reach([one for _, one in known]),
        markersize=5,
        linewidth=1.3,
        capsize=2.5,
        label=label,
        linestyle="-" if place % 2 == 0 else (0, (5, 1.5)),
        **look(place),
    )


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
        **dict.fromkeys(inked, dark),
        "axes.edgecolor": line,
        "grid.color": line,
        "grid.linewidth": 0.6,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.titlesize": 10.5,
        "axes.labelsize": 8.5,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "text.parse_math": False,
        "axes.formatter.use_mathtext": False,
    }
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
            data,
            format=kind,
            dpi=200,
            transparent=ground == "none",
            facecolor=ground,
            metadata=metadata,
        )
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


# ----------------------------------------------------------------------------------------------------
# The figure of an evaluation in six panels: two groups of means, two distributions, a heatmap, a profile.

MOST_SYSTEMS = 6
_SECOND = ("citation", "sp_", "joint", "disambig", "str_em", "dr", "insufficient", "refusal")  # of the second panel
_TITLES = {"answers": ("Answers", "Evidence"), "hotpotqa": ("Answers", "Evidence"), "asqa": ("Answers", "Readings")}
_LABELLED_ITEMS = MOST_LISTED
_WIDE_NAME = 22
# What is drawn item by item for one system with few items.
_ANSWER, _CITATION = ("answer_f1", "answer_em"), ("citation_precision", "citation_recall", "citation_f1")
LONGEST_NAME = 36


@dataclass(frozen=True, slots=True)
class _Data:
    """What the panels draw: at most MOST_SYSTEMS systems and the measures that lie in 0..1."""

    systems: tuple[ScoredSystem, ...]
    left_out: int
    comparison: Comparison
    text: tuple[str, ...]
    evidence: tuple[str, ...]
    labels: tuple[str, ...] = ()
    titles: tuple[str, str] = ("", "")
    legends: bool = True  # one in each panel, not one for all

    @property
    def measures(self) -> tuple[str, ...]:
        return self.text + self.evidence


Draw = Callable[["Axes"], None]


def figure(evaluation: Evaluation, comparison: Comparison, kind: str) -> bytes:
    """Return the six panels as one file; `kind` is png (200 dpi), svg or pdf.

    Raises UsageError for another kind, or if no measure has a value.
    """
    data = replace(_data(evaluation, comparison), legends=False)
    return figure_file(kind, "figure", lambda: _six(evaluation, data))


def _six(evaluation: Evaluation, data: _Data) -> Figure:
    made = new_figure(15, 9.2)
    grid = made.add_gridspec(2, 3)
    for place, (_, draw, polar) in enumerate(_panels(data)):
        axes = made.add_subplot(grid[place // 3, place % 3], projection="polar" if polar else None)
        draw(axes)
        axes.set_title(f"{'ABCDEF'[place]}  {axes.get_title()}")
    if len(data.systems) > 1:
        drawn = next(axes for axes in made.axes if axes.get_legend_handles_labels()[0])
        made.legend(*drawn.get_legend_handles_labels(), loc="outside lower center", **_legend_look(data, room=180))
    made.suptitle(_title(evaluation, data), x=0.01, ha="left", fontsize=13, fontweight="bold")
    return made


def panels(evaluation: Evaluation, comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return each panel's title and its SVG for a page: ink is `currentColor`, lines are a variable.

    Raises UsageError if no measure has a value.
    """
    data = _data(evaluation, comparison)
    return tuple(
        (title, page_svg(title, f"p{place}-", draw, (5.4, 4.1), polar=polar))
        for place, (title, draw, polar) in enumerate(_panels(data), start=1)
    )


def _data(evaluation: Evaluation, comparison: Comparison) -> _Data:
    drawn = [
        name
        for name in comparison.measures
        if is_share(name) and any(c[name].summary.mean is not None for c in comparison.cells.values())
    ]
    if not drawn:
        raise UsageError("There is nothing to draw: no measure has a value.", "Look at what is unscored.")
    evidence = [name for name in drawn if name.startswith(_SECOND)]
    text = [name for name in drawn if name not in evidence]
    titles = _TITLES.get(evaluation.protocol, (evaluation.protocol.capitalize(),) * 2)
    if not text or not evidence:
        half = (len(drawn) + 1) // 2
        text, evidence = drawn[:half], drawn[half:] or drawn[:1]
        titles = (evaluation.protocol.capitalize(),) * 2
    systems = evaluation.systems[:MOST_SYSTEMS]
    left_out = len(evaluation.systems) - len(systems)
    labels = legend_names([system.name for system in systems])
    return _Data(systems, left_out, comparison, tuple(text), tuple(dict.fromkeys(evidence)), labels, titles)


def legend_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names for a legend: without the words that all of them end in, and at most LONGEST_NAME characters."""
    words = [name.split() for name in names]
    common = 0
    while len(names) > 1 and all(len(one) > common + 1 for one in words):
        if len({one[-1 - common] for one in words}) > 1:
            break
        common += 1
    shorter = [" ".join(one[: len(one) - common]).removesuffix(" over") for one in words] if common else list(names)
    cut = [
        one if len(one) <= LONGEST_NAME else f"{one[: LONGEST_NAME // 2]}…{one[-LONGEST_NAME // 2 + 1 :]}"
        for one in shorter
    ]
    return tuple(cut if len(set(cut)) == len(names) else [f"{n}. {one}" for n, one in enumerate(cut, start=1)])


def _title(evaluation: Evaluation, data: _Data) -> str:
    items = len(evaluation.systems[0].items)
    more = f", the first {len(data.systems)} of {len(evaluation.systems)} systems" if data.left_out else ""
    return f"{evaluation.dataset}: {items} items{more}"


def _panels(data: _Data) -> tuple[tuple[str, Draw, bool], ...]:
    first = _typical(data.text, data.evidence)
    second = _typical([name for name in data.evidence if name != first], data.measures)
    profile: tuple[str, Draw, bool] = (
        ("Profile of means", lambda axes: _profile(axes, data), True)
        if len(data.measures) >= 3
        else ("Means", lambda axes: _dots(axes, data), False)
    )
    each = [tuple(n for n in names if n in data.measures) for names in (_ANSWER, _CITATION)]
    if all(each) and len(data.systems) == 1 and len(data.systems[0].items) <= _LABELLED_ITEMS:
        answers, citations = each
        bars: tuple[tuple[str, Draw, bool], ...] = (
            (f"{' and '.join(map(_pretty, answers))} of each item", lambda axes: _by_item(axes, data, answers), False),
            ("Citations of each item", lambda axes: _by_item(axes, data, citations), False),
        )
    else:
        bars = (
            (f"{data.titles[0]}, first measures", lambda axes: _bars(axes, data, data.text, data.titles[0]), False),
            (f"{data.titles[1]}, more measures", lambda axes: _bars(axes, data, data.evidence, data.titles[1]), False),
        )
    return (
        *bars,
        (f"Distribution of {_pretty(first)}", lambda axes: _distribution(axes, data, first), False),
        (f"Distribution of {_pretty(second)}", lambda axes: _distribution(axes, data, second), False),
        ("Every item", lambda axes: _heatmap(axes, data), False),
        profile,
    )


def _typical(names: Sequence[str], others: Sequence[str]) -> str:
    """Return a measure with many values, of `names` if there is one, then of `others`, else just any."""
    many = [n for n in (*names, *others) if n.endswith("f1") or n.startswith(("rouge", "bertscore", "MRR", "nDCG"))]
    return (many or [*names, *others])[0]


def _pretty(name: str) -> str:
    return measure_of(name).pretty_name


def _wrapped(text: str) -> str:
    """Return a name on two lines where one would be too long."""
    if len(text) <= _WIDE_NAME:
        return text
    spaces = [place for place, character in enumerate(text) if character == " "]
    middle = min(spaces, key=lambda place: abs(place - len(text) / 2), default=0)
    return f"{text[:middle]}\n{text[middle + 1 :]}" if middle else text[: 2 * _WIDE_NAME]


# ------------------------------------------------------------------ panels


def _bars(axes: Axes, data: _Data, names: Sequence[str], title: str) -> None:
    height = 0.8 / len(data.systems)
    counts = {data.comparison.cells[system.name][name].summary.n for system in data.systems for name in names}
    for number, system in enumerate(data.systems):
        for place, name in enumerate(names):
            found = data.comparison.cells[system.name][name].summary
            y = place + (number - (len(data.systems) - 1) / 2) * height
            if found.mean is None:
                axes.text(0.01, y, "not scored", va="center", fontsize=7.5)
                continue
            axes.barh(
                y,
                found.mean,
                height * 0.86,
                color=COLOURS[number],
                hatch=HATCHES[number],
                edgecolor=ink(),
                linewidth=0.5,
                label=data.labels[number] if name == names[0] else None,
            )
            if found.low is not None:
                axes.errorbar(found.mean, y, xerr=reach([found]), color=ink(), capsize=2.5, linewidth=1.1)
            right = found.mean if found.high is None else found.high
            few = f"  n = {found.n}" if len(counts) > 1 else ""
            axes.text(right + 0.015, y, f"{found.mean:.2f}{few}", va="center", fontsize=7.5, clip_on=False)
    axes.set_yticks(range(len(names)), [_wrapped(_pretty(name)) for name in names])
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_xlabel("Mean score (0 to 1)")
    axes.grid(axis="x")
    axes.set_title(f"{title}: means with 95 % intervals" + (f", n = {min(counts)}" if len(counts) == 1 else ""))
    _legend(axes, data)


def _by_item(axes: Axes, data: _Data, names: Sequence[str]) -> None:
    items, width = data.systems[0].items, 0.8 / len(names)
    for number, name in enumerate(names):
        places = [place + (number - (len(names) - 1) / 2) * width for place in range(len(items))]
        values = [item.metrics.get(name) or 0.0 for item in items]
        look: dict[str, Any] = {"color": COLOURS[number], "hatch": HATCHES[number], "edgecolor": ink()}
        axes.bar(places, values, width * 0.92, label=_pretty(name), linewidth=0.5, **look)
    _label_items(axes, data)
    axes.set_ylim(0, 1.1)
    axes.set_ylabel("Score (0 to 1)")
    axes.set_xlabel("Item, in the order of the data")
    axes.grid(axis="y")
    axes.set_title(f"{' and '.join(map(_pretty, names))}" if names[0] in _ANSWER else "Citations")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False, fontsize=7.5)


def _label_items(axes: Axes, data: _Data) -> None:
    items = data.systems[0].items
    if len(items) <= _LABELLED_ITEMS:
        labels = [item.id if len(item.id) <= 5 else str(place) for place, item in enumerate(items, start=1)]
        axes.set_xticks(range(len(items)), labels, fontsize=7, rotation=0 if len(items) <= 12 else 90)


def _distribution(axes: Axes, data: _Data, name: str) -> None:
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    edges = np.linspace(0, 1, 11)
    width = 0.092 / len(data.systems)
    for number, system in enumerate(data.systems):
        values = [min(1.0, max(0.0, value)) for value in item_values(system, name) if value is not None]
        counts, _ = np.histogram(values, bins=edges)
        left = edges[:-1] + 0.004 + number * width
        axes.bar(
            left,
            counts,
            width,
            align="edge",
            color=COLOURS[number],
            hatch=HATCHES[number],
            edgecolor=ink(),
            linewidth=0.5,
            label=data.labels[number],
        )
        if values:
            axes.axvline(float(np.mean(values)), color=COLOURS[number], linestyle=(0, (4, 2)), linewidth=1.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"{_pretty(name)} of an item (0 to 1); dashed: mean")
    axes.set_ylabel("Items (count)")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    axes.set_title(f"Distribution of {_pretty(name)}")
    _legend(axes, data)


def _heatmap(axes: Axes, data: _Data) -> None:
    import matplotlib as mpl
    import numpy as np

    names = [name for name in data.measures if any(name in item.metrics for item in data.systems[0].items[:1])]
    rows = [(system, name) for name in names for system in data.systems]
    values = np.array(
        [[np.nan if value is None else value for value in item_values(system, name)] for system, name in rows],
        dtype=float,
    )
    colours = mpl.colormaps["viridis"].with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    shown = axes.imshow(
        np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=1, aspect="auto", interpolation="nearest"
    )
    several = len(data.systems) > 1
    if several:
        step = len(data.systems)
        axes.set_yticks([step * place + (step - 1) / 2 for place in range(len(names))], map(_pretty, names))
        for place in range(1, len(names)):
            axes.axhline(step * place - 0.5, color=ink(), linewidth=0.9)
        below = "; rows of a measure: systems in order"
    else:
        axes.set_yticks(range(len(names)), map(_pretty, names))
        below = ""
    _label_items(axes, data)
    axes.set_xlabel(f"Item, in the order of the data{below}")
    axes.set_title("Every item (blank: not scored)")
    bar = axes.figure.colorbar(shown, ax=axes, fraction=0.05, pad=0.02)
    bar.set_label("Score (0 to 1)")
    bar.ax.tick_params(labelsize=7.5)
    axes.tick_params(length=0)


def _profile(axes: Any, data: _Data) -> None:
    import numpy as np

    names = data.measures
    angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
    closed = np.append(angles, angles[0])
    for number, system in enumerate(data.systems):
        means = [data.comparison.cells[system.name][name].summary.mean for name in names]
        values = np.array([np.nan if mean is None else mean for mean in means])
        axes.plot(
            closed,
            np.append(values, values[0]),
            color=COLOURS[number],
            marker=MARKERS[number],
            markersize=4.5,
            linewidth=1.7,
            linestyle="-" if number % 2 == 0 else (0, (5, 1.5)),
            label=data.labels[number],
        )
        if len(data.systems) == 1 and not np.isnan(values).any():
            axes.fill(closed, np.append(values, values[0]), color=COLOURS[number], alpha=0.15)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_xticks(angles, [_wrapped(_pretty(name)) for name in names], fontsize=8)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        side = np.sin(angle)
        label.set_horizontalalignment("center" if abs(side) < 0.1 else "left" if side > 0 else "right")
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.5, 0.75, 1], ["0.25", "0.5", "0.75", "1"], fontsize=7)
    axes.set_rlabel_position(180 / len(names))
    axes.tick_params(pad=1)
    axes.set_title("Profile of means (0 in the middle, 1 outside)", pad=14)
    _legend(axes, data, below=0.1)


def _dots(axes: Axes, data: _Data) -> None:
    for number, system in enumerate(data.systems):
        for place, name in enumerate(data.measures):
            found = data.comparison.cells[system.name][name].summary
            if found.mean is None:
                continue
            x = place + (number - (len(data.systems) - 1) / 2) * 0.12
            axes.errorbar(
                x,
                found.mean,
                yerr=reach([found]),
                capsize=3,
                color=COLOURS[number],
                marker=MARKERS[number],
                label=data.labels[number] if place == 0 else None,
            )
    axes.set_xticks(range(len(data.measures)), [_wrapped(_pretty(name)) for name in data.measures])
    axes.set_xlim(-0.6, len(data.measures) - 0.4)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("Mean score (0 to 1)")
    axes.grid(axis="y")
    axes.set_title("Means with 95 % intervals")
    _legend(axes, data)


# ------------------------------------------------------------------ looks


def _legend(axes: Axes, data: _Data, *, below: float = 0.16) -> None:
    if len(data.systems) > 1 and data.legends:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -below), **_legend_look(data, room=60))


def _legend_look(data: _Data, *, room: int) -> dict[str, Any]:
    """Return how a legend looks that has room for so many characters in a line."""
    longest = max(map(len, data.labels)) + 5
    columns = max(1, min(len(data.labels), room // longest))
    return {"ncols": columns, "frameon": False, "fontsize": 7.5}
