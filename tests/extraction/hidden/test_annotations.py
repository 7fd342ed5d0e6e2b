"""What is written into a form, or typed onto a page, is part of the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.extraction.conftest import at, read


def field(canvas: Any, value: str, flags: str = "print") -> None:
    canvas.acroForm.textfield(name="who", x=200, y=685, width=200, height=22, value=value, annotationFlags=flags)


def test_values_of_form_fields_stand_at_their_place(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        at(c, 70, 150, ["Name of the member"])
        at(c, 70, 400, ["The end of the form."])
        field(c, "Ada Lovelace")

    found = read(draw(page))[0]
    assert found.text == "Name of the member Ada Lovelace\n\nThe end of the form."
    place = found.boxes(found.text.index("Ada"), found.text.index("Ada") + 3)[0]
    assert 842 - 685 - 22 < place.top < place.bottom < 842 - 685 + 3
    assert found.warnings == ()


@pytest.mark.parametrize(("value", "flags"), [("", "print"), ("Secret", "hidden")])
def test_empty_and_hidden_fields_add_nothing(draw: Callable[..., Path], value: str, flags: str) -> None:
    def page(c: Any) -> None:
        at(c, 70, 150, ["Name of the member"])
        field(c, value, flags)

    assert read(draw(page))[0].text == "Name of the member"


def test_links_leave_the_page_as_it_is(draw: Callable[..., Path]) -> None:
    def page(c: Any) -> None:
        at(c, 70, 150, ["A page with a link"])
        c.linkURL("https://example.org", (70, 680, 200, 700))

    assert read(draw(page))[0].text == "A page with a link"
