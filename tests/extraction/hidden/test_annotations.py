"""What is written into a form, or typed onto a page, is part of the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.errors import DocumentError
from pdfqa_core.extraction.beside import PDFS_ATTACHED
from pdfqa_core.types import READABLE, BlockKind, DocumentState
from tests.extraction.conftest import at, blocks, read
from tests.extraction.hostile import FONT, pdf, stream, with_attached


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


WORDS = "BT /F 11 Tf 72 700 Td (Name of the member) Tj ET BT /F 11 Tf 72 600 Td (The end of the form.) Tj ET "


def with_form(
    path: Path, *annotations: str, content: str = WORDS, catalog: str = "", more: tuple[str, ...] = ()
) -> Path:
    """Write a PDF of one page with annotations (objects from 6 on) that belong to a form where they are fields."""
    numbers = [f"{6 + number} 0 R" for number in range(len(annotations))]
    path.write_bytes(
        pdf(
            f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{' '.join(numbers)}] {catalog} >> >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
            f"/Resources << /Font << /F 5 0 R >> >> /Annots [{' '.join(numbers)}] >>",
            stream(content),
            FONT,
            *annotations,
            *more,
        )
    )
    return path


def widget(keys: str, box: str = "200 695 400 713", flags: int = 4) -> str:
    return f"<< /Type /Annot /Subtype /Widget /F {flags} /Rect [{box}] /T (f) {keys} >>"


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("/FT /Tx /V (Ada Lovelace)", "Ada Lovelace"),
        ("/FT /Tx /V <FEFF041004340430002020AC0035>", "Ада €5"),
        ("/FT /Ch /Ff 131072 /Opt [(South) (North)] /V (North)", "North"),
        ("/FT /Ch /Ff 131072 /Opt [[(s) (South quay)] [(n) (North quay)]] /V (n)", "North quay"),
    ],
)
@pytest.mark.parametrize("told", ["", "/NeedAppearances true"])
def test_values_that_no_field_draws_stand_at_their_place(tmp_path: Path, keys: str, value: str, told: str) -> None:
    found = read(with_form(tmp_path / "form.pdf", widget(keys), catalog=told))[0]
    assert found.text == f"Name of the member {value}\n\nThe end of the form."
    place = found.boxes(found.text.index(value), found.text.index(value) + 1)[0]
    assert 190 < place.x0 < 215
    assert 842 - 713 < place.top + 3 < place.bottom < 842 - 695 + 3


@pytest.mark.parametrize(
    ("keys", "box", "flags"),
    [
        pytest.param("/FT /Tx /Ff 8192 /V (Secret)", "200 695 400 713", 4, id="a password"),
        pytest.param("/FT /Tx /V (Secret)", "200 695 400 713", 6, id="a hidden field"),
        pytest.param("/FT /Tx /V (Secret)", "200 695 200.5 713", 4, id="a field without width"),
        pytest.param("/FT /Tx /V (Secret)", "900 695 990 713", 4, id="a field off the page"),
        pytest.param("/FT /Tx /V (Secret) /DA (/F 11 Tf 1 g)", "200 695 400 713", 4, id="white letters"),
    ],
)
def test_values_that_nobody_sees_are_not_read(tmp_path: Path, keys: str, box: str, flags: int) -> None:
    found = read(with_form(tmp_path / "form.pdf", widget(keys, box, flags)))[0]
    assert "Secret" not in " ".join(blocks(found, *READABLE))


def test_ticked_buttons_are_told_from_empty_ones(tmp_path: Path) -> None:
    content = WORDS + "BT /F 11 Tf 72 650 Td (A boat:) Tj 60 0 Td (Yes) Tj 60 0 Td (No) Tj ET"
    content += " BT /F 11 Tf 72 630 Td (A berth:) Tj 60 0 Td (North) Tj 60 0 Td (South) Tj ET"
    boxes = [f"{x} {y} {x + 10} {y + 10}" for y in (649, 629) for x in (162, 222)]
    states = ["/AS /Yes /V /Yes", "/AS /Off /V /Off", "/Ff 32768 /AS /Off", "/Ff 32768 /AS /south"]
    fields = [widget(f"/FT /Btn {state}", box) for state, box in zip(states, boxes, strict=True)]
    text = read(with_form(tmp_path / "form.pdf", *fields, content=content))[0].text
    assert "A boat: Yes ☑ No ☐" in text
    assert "A berth: North ☐ South ☑" in text


def test_notes_are_marked_and_stand_last(tmp_path: Path) -> None:
    note = "<< /Type /Annot /Subtype /Text /Rect [400 740 420 760] /T (Ada) /Contents (The budget is wrong.) >>"
    mark = "<< /Type /Annot /Subtype /Highlight /Rect [72 690 120 710] /Contents (Ask him.) >>"
    hidden = "<< /Type /Annot /Subtype /Text /F 2 /Rect [400 740 420 760] /Contents (Secret) >>"
    found = read(with_form(tmp_path / "form.pdf", note, mark, hidden))[0]
    assert blocks(found)[-2:] == ["[Note by Ada: The budget is wrong.]", "[Note: Ask him.]"]
    assert blocks(found, BlockKind.TEXT) == ["Name of the member", "The end of the form."]


RENT = "BT /F 11 Tf 72 700 Td (The rent is 900 crowns a month) Tj ET "


@pytest.mark.parametrize(
    ("drawn", "annotation"),
    [
        pytest.param("127 703.5 m 146 703.5 l S", "", id="a line"),
        pytest.param("127 703 19 1 re f", "", id="a thin box"),
        pytest.param(
            "",
            "<< /Type /Annot /Subtype /StrikeOut /Rect [127 698 146 712] "
            "/QuadPoints [127 711 146 711 127 698 146 698] >>",
            id="an annotation",
        ),
    ],
)
def test_struck_out_words_are_marked(tmp_path: Path, drawn: str, annotation: str) -> None:
    annotations = [annotation] if annotation else []
    found = read(with_form(tmp_path / "form.pdf", *annotations, content=RENT + drawn))[0]
    assert found.text == "The rent is [struck out: 900] crowns a month"


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param("72 698.5 m 240 698.5 l S", id="underlined"),
        pytest.param("72 710 m 240 710 l S", id="a line above"),
        pytest.param("20 703.5 m 560 703.5 l S", id="a rule across the page"),
    ],
)
def test_other_lines_strike_out_nothing(tmp_path: Path, drawn: str) -> None:
    assert read(with_form(tmp_path / "form.pdf", content=RENT + drawn))[0].text == "The rent is 900 crowns a month"


def test_attached_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "attached.pdf"
    for names, more in ((["contract.pdf", "prices.csv"], f" {PDFS_ATTACHED}"), (["letter.txt", "prices.csv"], "")):
        path.write_bytes(with_attached(RENT, *((name, b"1") for name in names)))
        (warning,) = read(path)[0].warnings
        assert warning == f"2 files are attached and are not read: {', '.join(names)}.{more}"


@pytest.mark.parametrize("keys", ["/XFA (form)", "/XFA (form) /NeedsRendering true"])
def test_forms_that_a_viewer_makes_end_in_a_state_of_their_own(tmp_path: Path, keys: str) -> None:
    content = "BT /F 11 Tf 72 700 Td (Please wait...) Tj ET"
    with pytest.raises(DocumentError) as ended:
        read(with_form(tmp_path / "form.pdf", content=content, catalog=keys))
    assert ended.value.state is DocumentState.XFA
    assert "XFA" in str(ended.value)


def test_forms_with_fields_are_read_whether_or_not_they_have_xfa(tmp_path: Path) -> None:
    path = with_form(tmp_path / "form.pdf", widget("/FT /Tx /V (Ada Lovelace)"), catalog="/XFA (form)")
    assert "Ada Lovelace" in read(path)[0].text
