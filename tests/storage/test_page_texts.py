"""The index of words: what is found, what leaves it, and what happens to a damaged file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pdfqa_core.storage import Store
from pdfqa_core.storage.page_texts import FILENAME, PageTexts, Phrase, ServerPageTexts

ONE, TWO = ("one", "direct", "v1"), ("two", "direct", "v1")


@pytest.fixture
def texts(tmp_path: Path, store: Store) -> Iterator[PageTexts | ServerPageTexts]:
    on_file = store.database.is_sqlite
    opened = PageTexts(tmp_path / FILENAME) if on_file else ServerPageTexts(store.database)
    opened.put(ONE, [(1, "Die Wärmepumpe heizt das Haus."), (2, "The heating uses sea water.")])
    opened.put(TWO, [(7, "Water, water: heat pumps. Straße")])
    yield opened
    opened.close()


def found(texts: PageTexts, *phrases: Phrase, keys: tuple[tuple[str, str, str], ...] = (ONE, TWO)) -> set[object]:
    return {(one.document_id, texts.page(one.row)[0]) for one in texts.find(phrases, keys)}


def test_words_are_found_by_their_beginnings_without_case_and_accents(texts: PageTexts) -> None:
    assert found(texts, Phrase(("warme",))) == {("one", 1)}
    assert found(texts, Phrase(("heat",))) == {("one", 2), ("two", 7)}
    assert found(texts, Phrase(("heat",), whole=True)) == {("two", 7)}
    assert found(texts, Phrase(("straße",))) == {("two", 7)}


def test_all_phrases_have_to_be_there_in_their_order(texts: PageTexts) -> None:
    assert found(texts, Phrase(("water",)), Phrase(("heat",))) == {("one", 2), ("two", 7)}
    assert found(texts, Phrase(("sea", "wat"))) == {("one", 2)}
    assert found(texts, Phrase(("water", "sea"))) == set()
    assert texts.find([Phrase(())], [ONE]) == []


def test_signs_of_the_query_language_are_words_like_others(texts: PageTexts) -> None:
    for word in ('"', "AND", "water*", "NEAR(", "text:", "''"):
        assert found(texts, Phrase((word,))) in (set(), {("one", 2), ("two", 7)}), word


def test_only_the_readings_that_are_named_are_searched(texts: PageTexts) -> None:
    assert found(texts, Phrase(("water",)), keys=(TWO,)) == {("two", 7)}
    assert found(texts, Phrase(("water",)), keys=(("two", "direct", "v2"),)) == set()


def test_a_reading_is_replaced_by_its_next_version_and_forgotten(texts: PageTexts) -> None:
    texts.put(("two", "direct", "v2"), [(7, "Nothing of it is left.")])
    texts.put(("two", "visual", "v1"), [(7, "Water by OCR.")])
    assert texts.known() == {ONE, ("two", "direct", "v2"), ("two", "visual", "v1")}
    assert found(texts, Phrase(("water",)), keys=tuple(texts.known())) == {("one", 2), ("two", 7)}
    texts.forget(["two", "never there"])
    assert texts.known() == {ONE}
    texts.keep_only(["another"])
    assert texts.known() == set()
    assert found(texts, Phrase(("heat",))) == set()


def test_it_is_there_again_and_a_damaged_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / FILENAME
    first = PageTexts(path)
    first.put(ONE, [(1, "water")])
    first.close()
    again = PageTexts(path)
    assert again.known() == {ONE}
    again.close()
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    path.write_bytes(b"no database at all" * 100)
    anew = PageTexts(path)
    assert anew.known() == set()
    anew.put(ONE, [(1, "water")])
    assert len(anew.find([Phrase(("water",))], [ONE])) == 1
    anew.close()
