"""What is searched for, by the kind of the question."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from pdfqa_core.plans import bridge, found, interleaved, second_search
from pdfqa_core.reading.kinds import Kind, recognised
from pdfqa_core.text import content_terms
from pdfqa_core.types import Hit, Page, Passage, Query, Span
from tests.chunking.test_sections import page
from tests.reading.helpers import hits

STANDARD = page((1, "Standard plan"), (0, "The Standard plan pays 40 dollars for hearing aids."))
PLUS = page((1, "Plus plan"), (0, "The Plus plan pays 90 dollars for hearing aids."))
TOWNS = [(0, f"- Town {n} is a member of old.") for n in range(30)]
LEAGUE = page(
    (1, "League"), (2, "Members"), (0, "The league has these members."), *TOWNS,
    (2, "Fees"), (0, "A member pays nine crowns a year to the league."),
)  # fmt: skip


@dataclass
class Books:
    """Documents of one page each; a search finds the passages with the most words of the question."""

    texts: dict[str, Page]
    asked: list = field(default_factory=list)

    @property
    def titles(self):
        return {key: key for key in self.texts}

    names = files = titles
    languages: ClassVar[dict[str, str]] = {}

    def pages(self, document_id):
        return [replace(self.texts[document_id], document_id=document_id)]

    def search(self, query, k, document_ids=()):
        self.asked.append((query.text, tuple(document_ids)))
        found = [
            self._hit(key, block)
            for key in document_ids or self.texts
            for block in self.texts[key].blocks
            if not block.level
        ]
        wanted = set(content_terms(query.text))
        found.sort(key=lambda hit: -len(wanted & set(content_terms(f"{hit.passage.document_id} {hit.passage.text}"))))
        return [Hit(hit.passage, hit.score, rank, "words") for rank, hit in enumerate(found[:k], 1)]

    def _hit(self, key, block):
        span = Span(key, 1, block.start, block.end)
        return Hit(
            Passage(f"{key}{block.start}", (span,), self.texts[key].text[block.start : block.end]), 1.0, 0, "words"
        )


PLANS = Books({"Acme Standard": STANDARD, "Acme Plus": PLUS})


def plan(question, books, k=5):
    return found(recognised(question), Query(question), k, books)


def documents(result, count=None):
    return [hit.passage.document_id for hit in result.hits[:count]]


def test_both_sides_of_a_comparison_are_read_each_from_its_own_document():
    books = Books(PLANS.texts)
    result = plan("What is the difference between Acme Standard and Acme Plus in hearing aids?", books)
    assert documents(result, 2) == ["Acme Standard", "Acme Plus"]
    assert books.asked[:2] == [
        ("Acme Standard hearing aids", ("Acme Standard",)), ("Acme Plus hearing aids", ("Acme Plus",)),
    ]  # fmt: skip
    assert [hit.rank for hit in result.hits] == list(range(1, len(result.hits) + 1))
    assert "“Acme Standard” and for “Acme Plus”" in result.notes[0]


def test_sides_that_name_no_document_are_searched_for_everywhere():
    books = Books(PLANS.texts)
    plan("Compare hearing aids and dollars", books)
    assert [scope for _, scope in books.asked] == [(), (), ()]


def test_a_list_is_read_from_the_whole_section():
    result = plan("List all members of old", Books({"League of towns": LEAGUE}))
    assert result.kind is Kind.LIST
    shown = "".join(hit.passage.text for hit in result.hits if hit.retriever == "section")
    assert all(f"Town {n} " in shown for n in range(30))
    assert "nine crowns" not in shown
    assert "“Members”" in result.notes[0]


def test_a_summary_is_made_of_the_openings_of_all_documents_in_scope():
    result = plan("What are these documents about?", Books({"One": LEAGUE, "Two": STANDARD}))
    assert result.kind is Kind.SUMMARY
    assert documents(result) == ["One", "One", "Two"]
    assert [hit.passage.heading for hit in result.hits] == ["One: Members", "One: Fees", "Two: Standard plan"]


def test_a_summary_of_what_names_a_document_is_of_that_one():
    result = plan("Summarise Acme Plus", Books(PLANS.texts))
    assert (result.kind, documents(result)) == (Kind.SUMMARY, ["Acme Plus"])


def test_a_summary_of_a_subject_reads_its_section():
    result = plan("Summarise the fees in crowns", Books({"Towns": LEAGUE}))
    assert (result.kind, result.hits[0].passage.heading) == (Kind.SECTION, "Towns: Fees")


def test_hits_of_several_searches_take_turns_and_come_once():
    one, two = hits("a", "b", "c"), hits("a", "d")
    assert [hit.passage.id for hit in interleaved([one, two], 5)] == ["p1", "p2", "p3"]  # helpers name them by rank
    assert [hit.rank for hit in interleaved([one, two], 2)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The Newcomers is a film with Chris Evans.", ["Chris Evans"]),
        ("The newcomers were few.", []),
        ("It was founded in 1897 by the Bank of England.", ["1897", "Bank of England"]),
    ],
)
def test_the_bridge_are_the_names_that_the_question_lacks(text, names):
    assert bridge("What are the Newcomers known for?", hits(text)) == names


def test_a_second_search_asks_for_the_bridge_and_keeps_the_best_hit_first():
    books = Books(
        {
            "Film": page((0, "The Newcomers starred Chris Evans.")),
            "Actor": page((0, "Chris Evans is known for Marvel.")),
            "Other": page((0, "The stars are known for light.")),
        }
    )
    query = Query("What is the star of the Newcomers known for?")
    first = books.search(query, 3)
    again = second_search(query, first, 3, books)
    assert [hit.passage.document_id for hit in again][:2] == ["Film", "Actor"]
    assert books.asked[-1][0] == f"Chris Evans {query.text}"
    assert again[1].retriever == "second search"
    assert second_search(Query("Who is it?"), hits("nobody in particular"), 3, books) == hits("nobody in particular")
