from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from contextlib import closing

import pytest

from pdfqa_core.errors import DocumentError, PdfQAError
from pdfqa_core.extraction.process.render import PageRenderer
from pdfqa_core.types import Box, DocumentState
from tests.extraction import hostile
from tests.extraction.conftest import at


@pytest.fixture(scope="module")
def renderer() -> Iterator[PageRenderer]:
    with closing(PageRenderer()) as made:
        yield made


def size(image: bytes) -> tuple[int, int]:
    from PIL import Image

    return Image.open(io.BytesIO(image)).size


def test_pages_have_the_width_asked_for(renderer, draw):
    path = draw(lambda c: at(c, 70, 90, ["One"]), lambda c: at(c, 70, 90, ["Two"]))
    first, second = renderer.render(path, 1, width_px=400), renderer.render(path, 2, width_px=400)
    assert size(first) == pytest.approx((400, 566), abs=1)
    assert first != second
    assert size(renderer.render(path, 1, scale=2)) == pytest.approx((1190, 1684), abs=1)
    assert first[8:12] == b"WEBP"


def test_marks_are_coloured_and_the_print_stays(renderer, draw):
    from PIL import Image

    path = draw(lambda c: at(c, 70, 90, ["One"]))
    plain = renderer.render(path, 1, scale=1, jpeg=True)
    marked = renderer.render(path, 1, scale=1, jpeg=True, marks=[Box(60, 70, 120, 100)])
    assert plain[:2] == marked[:2] == b"\xff\xd8"
    image = Image.open(io.BytesIO(marked)).convert("RGB")
    assert image.getpixel((62, 72)) == pytest.approx((255, 200, 110), abs=8)
    assert image.getpixel((130, 72)) == pytest.approx((255, 255, 255), abs=8)
    darkest = min(sum(image.getpixel((x, y))) for x in range(60, 120) for y in range(70, 100))
    assert darkest < 200


@pytest.mark.linux
def test_it_survives_a_killed_child(renderer, draw):
    path = draw(lambda c: at(c, 70, 90, ["One"]), lambda c: at(c, 70, 90, ["Two"]))
    renderer.render(path, 1)
    before = renderer.process_id
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert size(renderer.render(path, 2, width_px=300))[0] == 300
    assert renderer.process_id != before


@pytest.mark.linux
def test_the_same_page_comes_from_the_cache(renderer, draw):
    path = draw(lambda c: at(c, 70, 90, ["One"]))
    image = renderer.render(path, 1)
    child = renderer.process_id
    assert child is not None
    os.kill(child, signal.SIGKILL)
    assert renderer.render(path, 1) is image
    assert renderer.process_id == child


def test_images_of_files_that_are_gone_or_let_go_are_forgotten(renderer, draw, tmp_path):
    gone, kept, let_go = (
        draw(lambda c, text=text: at(c, 70, 90, [text])).rename(tmp_path / text) for text in ("One", "Two", "Three")
    )
    images = {path: renderer.render(path, 1) for path in (gone, kept, let_go)}
    gone.unlink()
    renderer.forget_gone()
    renderer.release(let_go)
    assert {key[0] for key in renderer._cache} & {gone, kept, let_go} == {kept}
    assert renderer.render(kept, 1) is images[kept]
    assert renderer.render(let_go, 1) == images[let_go]


def test_wrong_pages_and_files_are_named(renderer, draw, tmp_path):
    path = draw(lambda c: at(c, 70, 90, ["One"]))
    with pytest.raises(PdfQAError, match="has no page 9"):
        renderer.render(path, 9)
    with pytest.raises(PdfQAError, match=r"gone\.pdf cannot be opened"):
        renderer.render(tmp_path / "gone.pdf", 1)
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(PdfQAError, match=r"broken\.pdf is damaged"):
        renderer.render(broken, 1)
    assert size(renderer.render(path, 1, width_px=100))[0] == 100


def test_a_giant_page_is_drawn_smaller(renderer, tmp_path):
    path = tmp_path / "giant.pdf"
    path.write_bytes(hostile.giant_media_box())
    width, height = size(renderer.render(path, 1, scale=3))
    assert width * height <= 12_100_000
    assert max(width, height) <= 4001


def test_a_page_that_hung_is_not_tried_again_and_the_others_are_drawn(tmp_path, draw):
    path = tmp_path / "slow.pdf"
    path.write_bytes(hostile.endless_text(4_000_000))
    good = draw(lambda c: at(c, 70, 90, ["One"]))
    with closing(PageRenderer()) as renderer:
        renderer.render(good, 1)  # the child has started
        renderer.seconds = 0.1
        with pytest.raises(PdfQAError, match="takes longer than"):
            renderer.render(path, 1)
        renderer.seconds = 10
        with pytest.raises(PdfQAError, match="takes longer than"):
            renderer.render(path, 1, width_px=100)
        assert renderer.process_id is None  # nothing was started for it
        assert size(renderer.render(good, 1, width_px=120))[0] == 120


def test_an_encrypted_file_is_drawn_with_its_password_only(draw, renderer):
    from reportlab.lib.pdfencrypt import StandardEncryption

    path = draw(lambda c: at(c, 70, 90, ["Locked"]), name="locked.pdf", encrypt=StandardEncryption("secret"))
    for wrong in (None, "guess"):
        with pytest.raises(DocumentError) as caught:
            renderer.render(path, 1, password=wrong)
        assert caught.value.state is DocumentState.ENCRYPTED
    assert size(renderer.render(path, 1, width_px=100, password="secret"))[0] == 100
    with pytest.raises(DocumentError):  # neither the image nor the open file is given to who does not know it
        renderer.render(path, 1, width_px=100)


def test_a_closed_renderer_says_so(draw):
    path = draw(lambda c: at(c, 70, 90, ["One"]))
    renderer = PageRenderer()
    renderer.render(path, 1)
    renderer.close()
    assert renderer.process_id is None
    with pytest.raises(PdfQAError, match="closed"):
        renderer.render(path, 1)
