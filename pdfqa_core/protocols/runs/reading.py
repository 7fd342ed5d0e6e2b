"""Files of questions as the cases of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import GoldItem
from pdfqa_core.protocols.gold import GoldFile, GoldQuestion, read_gold
from pdfqa_core.protocols.retrieval import resolve
from pdfqa_core.protocols.runs.base import Case, CaseFile
from pdfqa_core.types import Document, Page


def read_cases(path: Path) -> CaseFile:
    """Return the questions of a file in any form that is known. Raises UsageError that names file and row."""
    return cases_of(read_gold(path))


def cases_of(file: GoldFile) -> CaseFile:
    """Return the questions of a data set as cases, in its order; a follow-up has the turns before it as its history."""
    known = {question.id: question for question in file.questions}
    followed = {question.follow_up_of for question in file.questions}
    return CaseFile(file.name, tuple(_case(question, known, followed) for question in file.questions), file.corpus)


def _case(question: GoldQuestion, known: Mapping[str, GoldQuestion], followed: Collection[str]) -> Case:
    chain: list[GoldQuestion] = []
    before = question.follow_up_of
    while before in known and all(one.id != before for one in chain) and before != question.id:
        chain.insert(0, known[before])
        before = known[before].follow_up_of
    history = (*question.history, *((one.question, one.references[0] if one.references else "") for one in chain))
    first = chain[0].id if chain else question.conversation or (question.id if question.id in followed else "")
    return Case(
        question.id,
        question.question,
        question.references,
        question.answerable,
        question.kind,
        first,
        history,
        tuple(one.id for one in chain),
        question.contexts,
        _citations(question),
        None,
        question.recorded,
        question.human,
        question.generated,
    )


def _citations(question: GoldQuestion) -> tuple[str, ...] | None:
    """Return what a right answer cites: pages as "file.pdf#page=7", or passages of the data set by their id."""
    if not question.places:
        return None
    return tuple(dict.fromkeys(cited_id(place.document, place.page) for place in question.places))


def cited_id(document: str, page: int | None) -> str:
    """Return what a citation of a page of a file, or of a passage of a data set, is compared by."""
    if page is None:
        return document
    name = document.strip()
    return f"{name if name.lower().endswith('.pdf') or not name else f'{name}.pdf'}#page={page}"


def with_gold(
    file: CaseFile,
    path: Path,
    documents: Sequence[Document],
    page: Callable[[str, int], Page | None],
    filenames: Mapping[str, str],
) -> CaseFile:
    """Return the cases with their gold places found in the workspace, and notes on what was not found there.

    Where the file brings its own texts, or names no places, nothing changes. `filenames` are the documents' by id.
    """
    if file.corpus or all(case.gold_citations is None for case in file.cases):
        return file
    try:
        found = resolve(read_gold(path), documents, page)
    except UsageError as error:  # none of the places is there: answers are scored by their text
        return replace(file, notes=(*file.notes, error.what))
    by_id = {item.question.id: item for item in found.items if item.gold_spans or item.gold_pages}
    cases = tuple(_resolved(case, by_id.get(case.id), filenames) for case in file.cases)
    return replace(file, cases=cases, notes=(*file.notes, *found.notes))


def _resolved(case: Case, gold: GoldItem | None, filenames: Mapping[str, str]) -> Case:
    """Return a case whose gold citations name files as the workspace does."""
    if gold is None:
        return case
    pages = [*((span.document_id, span.page) for span in gold.gold_spans), *gold.gold_pages]
    cited = tuple(dict.fromkeys(cited_id(filenames.get(document, document), number) for document, number in pages))
    return replace(case, gold=gold, gold_citations=cited)
