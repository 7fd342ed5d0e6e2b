"""The measurements of the sample report, and the chart and tables that show them. All of it is invented."""

from __future__ import annotations

from typing import Any, NamedTuple

from reportlab.graphics.shapes import Drawing, Line, PolyLine, Rect, String
from reportlab.lib.colors import Color, HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Paragraph, Table, TableStyle

NAVY, TEAL, SAND = HexColor("#12344D"), HexColor("#1F7A8C"), HexColor("#B9D8DE")
TINT, RULE, GREY = HexColor("#EEF4F6"), HexColor("#B8C6CE"), HexColor("#5B6B76")
INK = HexColor("#1C242A")


CELL = ParagraphStyle("cell", fontName="Helvetica", fontSize=9, leading=12, textColor=INK)


class Month(NamedTuple):
    """One month of a winter: sea temperature in °C; heat, electricity and back-up in MWh."""

    name: str
    sea: float
    heat: int
    electricity: float
    backup: int

    @property
    def cop(self) -> float:
        """The coefficient of performance: heat delivered per unit of electricity."""
        return self.heat / self.electricity


WINTERS = {
    "2022–23": (
        Month("October", 13.1, 118, 34.1, 6),
        Month("November", 11.3, 176, 52.4, 9),
        Month("December", 8.9, 231, 73.6, 22),
        Month("January", 7.4, 248, 82.1, 41),
        Month("February", 6.8, 219, 74.0, 30),
        Month("March", 7.5, 187, 60.7, 8),
    ),
    "2023–24": (
        Month("October", 13.8, 139, 38.0, 2),
        Month("November", 11.5, 184, 51.5, 4),
        Month("December", 9.6, 226, 66.3, 11),
        Month("January", 7.9, 254, 77.4, 19),
        Month("February", 7.6, 214, 65.6, 7),
        Month("March", 8.3, 181, 53.7, 3),
    ),
}


def total(months: tuple[Month, ...]) -> Month:
    """Return the winter as one row: mean sea temperature, sums of the rest."""
    return Month(
        "Winter",
        round(sum(m.sea for m in months) / len(months), 1),
        sum(m.heat for m in months),
        round(sum(m.electricity for m in months), 1),
        sum(m.backup for m in months),
    )


COSTS = (
    ("Sea-water intake, outfall and pipes", 690_000),
    ("Heat pump and plant room", 940_000),
    ("Heat network, 1,240 m", 610_000),
    ("Controls and meters", 130_000),
    ("Design and permits", 110_000),
)


def text(x: float, y: float, words: str, colour: Color = GREY, anchor: str = "middle", bold: bool = False) -> String:
    """Return a label of the figure."""
    font = "Helvetica-Bold" if bold else "Helvetica"
    return String(x, y, words, fontName=font, fontSize=8, fillColor=colour, textAnchor=anchor)


def axis(drawing: Drawing, left: float, right: float, ticks: dict[str, float]) -> None:
    """Draw grid lines with their values on the left."""
    for words, y in ticks.items():
        drawing.add(Line(left, y, right, y, strokeColor=RULE, strokeWidth=0.4))
        drawing.add(text(left - 5, y - 3, words, anchor="end"))


def chart(width: float) -> Drawing:
    """Return Figure 1: heat by month as bars, COP by month as lines; each winter has one colour in both."""
    height, foot, top = 206, 20, 158
    drawing = Drawing(width, height)
    panel = (width - 84) / 2
    step = panel / 6
    colours = dict(zip(WINTERS, (TEAL, NAVY), strict=True))
    left, right = 28, 28 + panel
    axis(drawing, left, right, {str(v): foot + (top - foot) * v / 300 for v in (0, 100, 200, 300)})
    drawing.add(text(left - 18, top + 14, "Heat delivered, MWh", INK, "start", bold=True))
    for series, (year, months) in enumerate(WINTERS.items()):
        for i, month in enumerate(months):
            x = left + i * step + step * (0.14 + 0.36 * series)
            drawing.add(
                Rect(x, foot, step * 0.34, (top - foot) * month.heat / 300, fillColor=colours[year], strokeColor=None)
            )
    start = right + 56
    axis(
        drawing,
        start,
        start + panel,
        {f"{v:.1f}": foot + (top - foot) * (v - 2.8) / 0.9 for v in (2.8, 3.1, 3.4, 3.7)},
    )
    drawing.add(text(start - 18, top + 14, "Coefficient of performance", INK, "start", bold=True))
    for year, months in WINTERS.items():
        points = [
            v
            for i, m in enumerate(months)
            for v in (start + (i + 0.5) * step, foot + (top - foot) * (m.cop - 2.8) / 0.9)
        ]
        drawing.add(PolyLine(points, strokeColor=colours[year], strokeWidth=1.8, strokeLineJoin=1))
    for origin in (left, start):
        for i, month in enumerate(next(iter(WINTERS.values()))):
            drawing.add(text(origin + (i + 0.5) * step, foot - 12, month.name[:3]))
    for series, year in enumerate(WINTERS):
        x = left - 18 + 72 * series
        drawing.add(Rect(x, height - 9, 9, 9, fillColor=colours[year], strokeColor=None))
        drawing.add(text(x + 14, height - 8, year, INK, "start"))
    return drawing


def row(month: Month) -> list[str]:
    """Return the figures of one month as they are printed."""
    return [f"{month.sea:.1f}", f"{month.heat:,}", f"{month.electricity:.1f}", str(month.backup), f"{month.cop:.2f}"]


def monthly(width: float) -> Table:
    """Return Table 1."""
    right = ParagraphStyle("right", CELL, alignment=TA_RIGHT, textColor=NAVY, fontName="Helvetica-Bold")
    heads = ["Sea<br/>(°C)", "Heat<br/>(MWh)", "Electricity<br/>(MWh)", "Back-up<br/>(MWh)", "COP"]
    month_head = ParagraphStyle("left", right, alignment=0)
    rows: list[list[Any]] = [[Paragraph("Month", month_head), *(Paragraph(head, right) for head in heads)]]
    sums = []
    for year, months in WINTERS.items():
        rows += [
            [f"{month.name} {year[:4] if i < 3 else '20' + year[-2:]}", *row(month)] for i, month in enumerate(months)
        ]
        sums.append(len(rows))
        rows.append([f"Winter {year}", *row(total(months))])
    style = [
        ("FONT", (0, 0), (-1, -1), "Helvetica", 9, 11),
        ("TEXTCOLOR", (0, 0), (-1, -1), INK),
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
        ("VALIGN", (0, 0), (-1, -1), "BOTTOM"),
        ("TOPPADDING", (0, 0), (-1, -1), 2.2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.2),
        ("LEFTPADDING", (0, 0), (-1, -1), 6),
        ("RIGHTPADDING", (0, 0), (-1, -1), 6),
        ("LINEABOVE", (0, 0), (-1, 0), 1, NAVY),
        ("LINEBELOW", (0, 0), (-1, 0), 0.6, NAVY),
        ("LINEBELOW", (0, -1), (-1, -1), 1, NAVY),
    ]
    for at in sums:
        style += [
            ("FONT", (0, at), (-1, at), "Helvetica-Bold", 9, 11),
            ("BACKGROUND", (0, at), (-1, at), TINT),
        ]
    widths = [width - 5 * 58, *[58] * 5]
    return Table(rows, widths, style=TableStyle(style), repeatRows=1)


def costs(width: float) -> Table:
    """Return Table 2."""
    rows = [[name, f"{amount:,}"] for name, amount in COSTS]
    rows.append(["Total", f"{sum(amount for _, amount in COSTS):,}"])
    style = [
        ("FONT", (0, 0), (-1, -1), "Helvetica", 9, 11),
        ("FONT", (0, -1), (-1, -1), "Helvetica-Bold", 9, 11),
        ("TEXTCOLOR", (0, 0), (-1, -1), INK),
        ("BACKGROUND", (0, -1), (-1, -1), TINT),
        ("ALIGN", (1, 0), (1, -1), "RIGHT"),
        ("TOPPADDING", (0, 0), (-1, -1), 2.2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.2),
        ("LINEABOVE", (0, 0), (-1, 0), 1, NAVY),
        ("LINEBELOW", (0, -1), (-1, -1), 1, NAVY),
    ]
    return Table(rows, [width - 90, 90], style=TableStyle(style))
