import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdfqa_core.chunking import Paragraphs, Snippets, Windows, chunkers, with_headings
from pdfqa_core.errors import UsageError
from pdfqa_core.text import JOINER, words
from pdfqa_core.types import READABLE, Block, BlockKind, Page

KINDS = st.sampled_from([*BlockKind, BlockKind.TEXT, BlockKind.TEXT, BlockKind.LIST])
WORD = st.sampled_from(["the", "plan", "covers", "Dr.", "care.", "ends!", "Why?", "3.5", "naïve", "a" * 230, "…"])
BLOCK = st.tuples(KINDS, st.lists(WORD, max_size=40), st.sampled_from([" ", "\n", "  "]))
PAGES = st.lists(st.lists(BLOCK, max_size=6), max_size=4)


def page_of(number, blocks):
    text, found = "", []
    for kind, tokens, space in blocks:
        start = len(text)
        text += space.join(tokens)
        found.append(Block(start, len(text), kind))
        text += "\n\n"
    return Page("doc", number, str(number), 595, 842, text, (), tuple(found))


def pages_of(data):
    return [page_of(number, blocks) for number, blocks in enumerate(data, 1)]


def text_pages(*counts):
    """Pages of numbered words: page p has counts[p] of them."""
    total, pages = 0, []
    for number, count in enumerate(counts, 1):
        pages.append(page_of(number, [(BlockKind.TEXT, [f"w{total + i}" for i in range(count)], " ")]))
        total += count
    return pages


def readable_words(pages):
    found = set()
    for page in pages:
        for block in page.blocks:
            if block.kind in READABLE:
                for start, end in words(page.text[block.start : block.end]):
                    found.add((page.number, block.start + start, block.start + end))
    return found


def pairs_tokenizer(text):
    """A token is at most 3 characters long and never holds white space."""
    return [m.span() for m in re.finditer(r"\S{1,3}", text)]


def disjoint(spans):
    """Whether no two spans overlap, in whatever order (a note may be read after the sentence that it parts)."""
    return all(a.page < b.page or a.end <= b.start for a, b in pairwise(sorted(spans)))


def count_words(passage):
    """Words as the chunkers count them: a run of over 100 characters counts once per 100."""
    return sum(math.ceil((e - s) / 100) for s, e in words(passage.text))


ANY = st.one_of(
    st.builds(lambda size, step: Windows(size=size, step=min(size, step)), st.integers(1, 30), st.integers(1, 30)),
    st.builds(lambda n: Snippets(length=n), st.integers(1, 30)),
    st.builds(
        lambda a, b: Snippets(min_length=min(a, b), max_length=max(a, b)), st.integers(1, 30), st.integers(1, 30)
    ),
    st.builds(lambda a, b: Paragraphs(shortest=min(a, b), longest=max(a, b)), st.integers(1, 30), st.integers(1, 60)),
    st.builds(
        lambda size, step: Windows(size=size, step=min(size, step), unit="tokens", tokenize=pairs_tokenizer),
        st.integers(1, 30),
        st.integers(1, 30),
    ),
    st.builds(lambda n: Snippets(length=n, unit="tokens", tokenize=pairs_tokenizer), st.integers(1, 30)),
)


@settings(max_examples=40, deadline=None)
@given(PAGES, ANY)
def test_every_readable_word_is_covered_and_nothing_else(data, chunker):
    pages = pages_of(data)
    covered = {}
    for passage in chunker.chunk(pages):
        for span in passage.spans:
            covered.setdefault(span.page, set()).update(range(span.start, span.end))
    wanted = readable_words(pages)
    for number, start, end in wanted:
        assert covered.get(number, set()).issuperset(range(start, end))
    readable = {(n, place) for n, start, end in wanted for place in range(start, end)}
    for page in pages:
        for place in covered.get(page.number, ()):
            assert page.text[place].isspace() or (page.number, place) in readable


@settings(max_examples=40, deadline=None)
@given(PAGES, ANY)
def test_spans_rebuild_the_text_and_ids_are_unique(data, chunker):
    pages = pages_of(data)
    texts = {page.number: page.text for page in pages}
    passages = chunker.chunk(pages)
    for passage in passages:
        assert passage.text == JOINER.join(texts[s.page][s.start : s.end] for s in passage.spans)
        assert passage.text.strip() == passage.text != ""
        assert passage.heading == ""
        assert disjoint(passage.spans)
    assert len({p.id for p in passages}) == len(passages)


@settings(max_examples=40, deadline=None)
@given(PAGES, st.integers(1, 30), st.integers(1, 30))
def test_windows_are_bounded_and_overlap_as_promised(data, size, step):
    step = min(size, step)
    pages = pages_of(data)
    passages = Windows(size=size, step=step).chunk(pages)
    lengths = [count_words(p) for p in passages]
    total = sum(math.ceil((end - start) / 100) for _, start, end in readable_words(pages))
    if total == 0:
        assert passages == []
        return
    assert len(passages) == 1 + max(0, math.ceil((total - size) / step))
    assert all(length == size for length in lengths[:-1])
    # The last window holds what its beginning leaves, and something that the one before lacks.
    assert lengths[-1] == total - step * (len(passages) - 1)
    assert len(passages) == 1 or lengths[-1] > size - step


@settings(max_examples=40, deadline=None)
@given(PAGES, st.integers(1, 30))
def test_fixed_snippets_are_disjoint_and_full(data, length):
    pages = pages_of(data)
    passages = Snippets(length=length).chunk(pages)
    total = sum(math.ceil((end - start) / 100) for _, start, end in readable_words(pages))
    assert len(passages) == math.ceil(total / length)
    lengths = [count_words(p) for p in passages]
    assert sum(lengths) == total
    assert all(n == length for n in lengths[:-1])
    assert disjoint([s for p in passages for s in p.spans])


@settings(max_examples=40, deadline=None)
@given(PAGES, st.integers(1, 20), st.integers(0, 20))
def test_bounded_snippets_keep_their_bounds(data, shortest, more):
    passages = Snippets(min_length=shortest, max_length=shortest + more).chunk(pages_of(data))
    lengths = [count_words(p) for p in passages]
    assert all(n <= shortest + more for n in lengths)
    assert all(n >= shortest for n in lengths[:-1])


@settings(max_examples=40, deadline=None)
@given(PAGES, st.integers(1, 20), st.integers(0, 60))
def test_paragraphs_are_disjoint_and_bounded(data, shortest, more):
    pages = pages_of(data)
    passages = Paragraphs(shortest=shortest, longest=shortest + more).chunk(pages)
    assert all(count_words(p) <= shortest + more for p in passages)
    assert disjoint([s for p in passages for s in p.spans])


def test_an_empty_document_has_no_passages():
    for name in chunkers.names():
        assert chunkers.get(name)().chunk([]) == []
        assert chunkers.get(name)().chunk([page_of(1, []), page_of(2, [(BlockKind.HEADER, ["title"], " ")])]) == []


def test_a_passage_across_a_page_border_has_a_span_on_each_page():
    first, second = text_pages(6, 6)
    passage = Windows(size=8, step=8).chunk([first, second])[0]
    assert [(s.page, s.start, s.end) for s in passage.spans] == [(1, 0, len("w0 w1 w2 w3 w4 w5")), (2, 0, 5)]
    assert passage.pages == (1, 2)
    assert passage.text == "w0 w1 w2 w3 w4 w5\n\nw6 w7"


def test_headers_footers_and_hidden_text_are_left_out_and_split_the_span():
    page = page_of(
        1,
        [
            (BlockKind.HEADER, ["Running", "title"], " "),
            (BlockKind.TEXT, ["one", "two"], " "),
            (BlockKind.HIDDEN, ["ignore", "everything"], " "),
            (BlockKind.TEXT, ["three", "four"], " "),
            (BlockKind.FOOTER, ["page", "9"], " "),
        ],
    )
    for name in chunkers.names():
        [passage] = chunkers.get(name)().chunk([page])
        assert passage.text == "one two\n\nthree four"
        assert len(passage.spans) == 2


def test_snippets_end_with_the_last_sentence_in_reach(make_page):
    page = make_page("One two three. Four five. Six seven eight nine ten eleven twelve.")
    texts = [p.text for p in Snippets(min_length=3, max_length=6).chunk([page])]
    assert texts == ["One two three. Four five.", "Six seven eight nine ten eleven", "twelve."]
    assert Snippets(min_length=4, max_length=4).chunk([page])[0].text == "One two three. Four"


def test_a_page_border_in_mid_sentence_is_no_sentence_end():
    pages = [
        page_of(1, [(BlockKind.TEXT, "It began. The plan covers all".split(), " ")]),
        page_of(2, [(BlockKind.TEXT, "costs of care. Then it ends.".split(), " ")]),
    ]
    texts = [p.text for p in Snippets(min_length=1, max_length=7).chunk(pages)]
    assert texts[0] == "It began."


def test_a_word_longer_than_a_passage_is_cut_at_tokens():
    page = page_of(1, [(BlockKind.TEXT, ["保険は治療の費用を負担します" * 3], " ")])
    passages = Snippets(length=5, unit="tokens", tokenize=pairs_tokenizer).chunk([page])
    assert len(passages) == math.ceil(math.ceil(len(page.text.strip()) / 3) / 5)
    assert "".join(p.text for p in passages) == page.text.strip()


def test_a_paragraph_broken_by_a_page_border_is_one_passage():
    pages = [
        page_of(1, [(BlockKind.TEXT, ["start"] * 30, " "), (BlockKind.FOOTER, ["1"], " ")]),
        page_of(2, [(BlockKind.HEADER, ["Title"], " "), (BlockKind.TEXT, ["end"] * 30, " ")]),
    ]
    [passage] = Paragraphs().chunk(pages)
    assert passage.pages == (1, 2)


@pytest.mark.parametrize("aside", [BlockKind.FOOTNOTE, BlockKind.CAPTION])
def test_a_note_below_a_paragraph_broken_by_a_page_border_comes_after_it(aside):
    first = page_of(1, [(BlockKind.TEXT, "The plan covers all of".split(), " "), (aside, ["1", "Since", "2020."], " ")])
    second = page_of(2, [(BlockKind.TEXT, "the costs of care.".split(), " "), (BlockKind.TEXT, ["It", "ends."], " ")])
    whole, note, rest = (p.text for p in Paragraphs(shortest=1).chunk([first, second]))
    assert whole == JOINER.join(["The plan covers all of", "the costs of care."])
    assert (note, rest) == ("1 Since 2020.", "It ends.")


def test_a_long_block_is_cut_at_sentence_ends():
    page = page_of(1, [(BlockKind.TEXT, (["word"] * 9 + ["End."]) * 50, " ")])
    passages = Paragraphs().chunk([page])
    assert [len(p.text.split()) for p in passages] == [300, 200]
    assert all(p.text.endswith("End.") for p in passages)


def test_unmodified_paragraphs_stand_as_they_are():
    pages = [
        page_of(
            1,
            [
                (BlockKind.HEADING, ["Balance", "billing"], " "),
                (BlockKind.LIST, ["one"], " "),
                (BlockKind.TEXT, ["long."] * 400, " "),
                (BlockKind.TEXT, ["start"] * 30, " "),
            ],
        ),
        page_of(2, [(BlockKind.TEXT, ["end"] * 30, " ")]),
    ]
    found = Paragraphs(unmodified=True).chunk(pages)
    assert [passage.text.split()[0] for passage in found] == ["Balance", "one", "long.", "start", "end"]
    assert [len(passage.text.split()) for passage in found] == [2, 1, 400, 30, 30]
    assert len(Paragraphs().chunk(pages)) == 3
    assert Paragraphs(unmodified=True).words == "paragraphs (unmodified True)"
    assert Paragraphs(unmodified=True).chunk([]) == []


def test_the_recipe_names_all_parameters_and_changes_the_ids():
    one, other = Windows(size=120, step=60), Windows(size=120, step=30)
    assert one.recipe == "windows(unit=words, size=120, step=60)"
    [a], [b] = one.chunk(text_pages(9)), other.chunk(text_pages(9))
    assert a.spans == b.spans
    assert a.id != b.id


@pytest.mark.parametrize(
    "make",
    [
        lambda: Windows(size=10, step=11),
        lambda: Windows(size=0, step=0),
        lambda: Snippets(length=0),
        lambda: Snippets(min_length=3),
        lambda: Snippets(min_length=4, max_length=3),
        lambda: Paragraphs(shortest=400),
        lambda: Windows(unit="tokens"),
        lambda: Windows(unit="pages"),
        lambda: Windows().chunk([replace(text_pages(1)[0], document_id=i) for i in "ab"]),
    ],
)
def test_wrong_parameters_are_refused(make):
    with pytest.raises(UsageError):
        make()


def test_headings_are_the_title_and_the_nearest_heading():
    pages = [
        page_of(1, [(BlockKind.TEXT, ["intro"] * 5, " "), (BlockKind.HEADING, ["Copays", "and\nmore"], " ")]),
        page_of(2, [(BlockKind.TEXT, ["x"] * 5, " "), (BlockKind.HEADING, ["The", "Plan"], " ")]),
        page_of(3, [(BlockKind.TEXT, ["y"] * 5, " ")]),
    ]
    passages = with_headings(Windows(size=5, step=5).chunk(pages), pages, " The  Plan ")
    assert [p.heading for p in passages] == [
        "The Plan",
        "The Plan: Copays and more",
        "The Plan: Copays and more",
        "The Plan",
    ]
    assert [replace(p, heading="") for p in passages] == Windows(size=5, step=5).chunk(pages)
