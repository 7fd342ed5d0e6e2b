"""Letters that are printed twice, a little apart, to look bold, are read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.extraction.conftest import read

TEXT = "Wide offset fee: 4,400, all filled"


@pytest.mark.parametrize("apart", [0.3, 0.6, 0.9, 1.1])
@pytest.mark.parametrize("whole", [False, True])
def test_letters_are_read_once(draw: Callable[..., Path], apart: float, whole: bool) -> None:
    def page(c: Any) -> None:
        c.setFont("Helvetica", 12)
        x = 72.0
        for part in (TEXT,) if whole else TEXT:
            c.drawString(x, 700, part)
            c.drawString(x + apart, 700, part)
            x += c.stringWidth(part, "Helvetica", 12)

    assert read(draw(page))[0].text == TEXT


def test_double_letters_placed_one_by_one_stay_double(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        c.setFont("Helvetica", 12)
        x = 72.0
        for part in "Hawaii, all 11":
            c.drawString(x, 700, part)
            x += c.stringWidth(part, "Helvetica", 12)

    assert read(draw(page))[0].text == "Hawaii, all 11"
