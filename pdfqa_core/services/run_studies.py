"""Answers of runs as a study: the items that people rate, beside their gold answers, without the systems' names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Prediction, ReadText
from pdfqa_core.protocols.runs import Case, CaseFile
from pdfqa_core.protocols.study_items import GeneratedItem
from pdfqa_core.reading.outcomes import lines_and_words
from pdfqa_core.services.runs import RunService
from pdfqa_core.services.runs_together import RunsTogether
from pdfqa_core.services.studies import PAIRWISE
from pdfqa_core.services.study_setup import StudySetup
from pdfqa_core.study_types import GoldPassage, ItemDetails, Study
from pdfqa_core.types import Hit, Passage, Span

REFUSED = "(refused to answer)"  # what annotators read in place of a refused answer


class RunStudies:
    """Makes studies of stored runs. Methods raise UsageError where the owner has no such run, and StorageError."""

    def __init__(
        self, runs: RunService, together: RunsTogether, setup: StudySetup,
        filenames: Callable[[str], Mapping[str, str]],
    ) -> None:  # fmt: skip
        self._runs = runs
        self._together = together
        self._setup = setup
        self._filenames = filenames

    def make(
        self, owner: str, name: str, run_ids: Sequence[str], *, item_ids: Collection[str] = (),
        systems: Collection[str] = (), n: int = 0, seed: int = 0, by: str = "system", preset: str = "answers",
        names: str = "",
    ) -> Study:  # fmt: skip
        """Make a study of the answers of runs, `n` of them drawn with `seed` (0: all).

        `item_ids` and `systems` (as `RunsTogether` names them) choose the answers; empty: all. Each system gives its
        share of the n, or with `by` "document" each document, with "" neither. With the preset "pairwise" an item is a
        pair of two systems' answers. Raises UsageError where no answer is left, or a pair has not two systems.
        """
        items = self.items(owner, run_ids, item_ids, systems)
        if not items:
            raise UsageError("There is no answer to rate.", "Choose other questions, or let the run go on.")
        by = "" if preset == PAIRWISE and by == "system" else by
        return self._setup.of_items(owner, name, items, n=n, seed=seed, by=by, preset=preset, names=names)

    def items(
        self, owner: str, run_ids: Sequence[str], item_ids: Collection[str] = (), systems: Collection[str] = ()
    ) -> tuple[GeneratedItem, ...]:
        """Return the answers of runs as items of a study, question by question; what failed is left out."""
        file = self._runs.cases(owner, self._runs.get(owner, run_ids[0]).plan)
        predictions = self._together.predictions(owner, run_ids)
        wanted = [name for name in dict.fromkeys(system for system, _ in predictions) if not systems or name in systems]
        filenames = self._filenames(owner)
        found = []
        for case in file.cases:
            for system in wanted if not item_ids or case.id in item_ids else ():
                one = predictions.get((system, case.id))
                if one is not None and not one.failed:
                    found.append(_item(case, system, one, file, filenames))
        return tuple(found)


def _item(
    case: Case, system: str, prediction: Prediction, file: CaseFile, filenames: Mapping[str, str]
) -> GeneratedItem:
    gold = tuple(_gold(place, file) for place in case.gold_citations or ())
    document = next((one.filename for one in gold if one.filename), "")
    lines = [prediction.quote.quote] if prediction.perhaps and prediction.quote else []
    answer = lines_and_words(lines, prediction.answer.strip()) or (REFUSED if prediction.refused else "")
    hits = _hits(prediction.evidence)
    return GeneratedItem(
        case.id, case.question, answer or "(empty)",
        ItemDetails(case.references, gold, system=system, document=document),
        hits,
        {hit.passage.document_id: filenames.get(hit.passage.document_id, hit.passage.id) for hit in hits},
    )  # fmt: skip


def _hits(read: Sequence[ReadText]) -> tuple[Hit, ...]:
    """Return the passages that an answer was made of, without the retriever's name: who rates is not to know it."""
    passages = (
        Passage(one.id, one.spans or (Span(one.document_id or one.id, one.page, 0, 0),), one.text) for one in read
    )
    return tuple(Hit(one, 0.0, rank, "") for rank, one in enumerate(passages, start=1))


def _gold(place: str, file: CaseFile) -> GoldPassage:
    """Return a gold place, "file.pdf#page=7" or a text of the data set by its id."""
    name, mark, page = place.rpartition("#page=")
    if mark and page.isdecimal():
        return GoldPassage("", name, int(page))
    return GoldPassage(next((one.text for one in file.corpus if one.id == place), ""), place)
