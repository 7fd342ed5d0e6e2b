from __future__ import annotations

import io

import pytest

from pdfqa_core.extraction.process.children import Frame, read_frame, write_frame, write_json


def test_frames_survive_a_pipe_and_damage_ends_them():
    stream = io.BytesIO()
    write_json(stream, a=1, text="ü")
    write_frame(stream, b"B", b"\x00\xff")
    whole = stream.getvalue()
    reader = io.BytesIO(whole)
    first, second, third = read_frame(reader), read_frame(reader), read_frame(reader)
    assert first is not None
    assert first.json() == {"a": 1, "text": "ü"}
    assert second == Frame(b"B", b"\x00\xff")
    assert third is None
    assert read_frame(io.BytesIO(whole[:7])) is None
    assert read_frame(io.BytesIO(b"B\xff\xff\xff\xff")) is None
    with pytest.raises(ValueError, match="JSON object"):
        Frame(b"J", b"[1]").json()
