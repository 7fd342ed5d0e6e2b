"""Making studies and keeping them: what they ask, their items and people, their state. For the owner of a study."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pdfqa_core.errors import PdfQAError, UsageError, in_file
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.protocols import study_items
from pdfqa_core.protocols.study_definition import DEFAULT_PRESET, check_change, preset_named, with_keys
from pdfqa_core.protocols.study_items import GeneratedItem
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.studies import PAIRWISE, StudyService
from pdfqa_core.storage import StudyTurn
from pdfqa_core.storage.records import Annotator
from pdfqa_core.storage.studies import Studies
from pdfqa_core.storage.study_changes import StudyChanges
from pdfqa_core.study_types import Criterion, GoldPassage, ItemRole, Study, StudyState

_PARTED = re.compile(r"[,;\n]")


@dataclass(frozen=True, slots=True)
class Source:
    """Where items come from: files of generated answers beside a file of gold answers, or one table.

    `n` items are drawn with `seed` (0: all), the same for all annotators, each stratum of `by` giving its share.
    """

    predictions: tuple[Path, ...] = ()
    gold: Path | None = None
    table: Path | None = None
    n: int = 0
    seed: int = 0
    by: str = ""

    def items(self) -> tuple[GeneratedItem, ...]:
        """Return all items there are. Raises UsageError that names file and row."""
        if self.table is not None:
            with in_file(self.table.name):
                return study_items.read_item_table(read_file(self.table))
        if not self.predictions or self.gold is None:
            raise UsageError("Generated answers need gold answers beside them.", "Choose both files, or a table.")
        return study_items.generated_and_gold(self.predictions, self.gold)


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names in a text, parted by commas, semicolons or lines, each once."""
    return tuple(dict.fromkeys(" ".join(name.split()) for name in _PARTED.split(text) if name.strip()))


class StudySetup:
    """The owner's side of studies. Methods raise UsageError where the study is not the owner's, and StorageError."""

    def __init__(
        self, store: Studies, changes: StudyChanges, studies: StudyService, documents: DocumentService | None = None
    ) -> None:
        self._store = store
        self._changes = changes
        self._studies = studies
        self._documents = documents

    # ------------------------------------------------------------ making

    def of_conversations(
        self, owner: str, name: str, conversation_ids: Sequence[str], preset: str = DEFAULT_PRESET, names: str = ""
    ) -> Study:
        """Make a study of all turns of these conversations; `names` are those who may rate (empty: anybody)."""
        preset_named(preset)
        if preset == PAIRWISE:
            raise UsageError("A turn has one answer, a pair needs two.", "Give two files of generated answers.")
        study = self._studies.create(owner, name, conversation_ids)
        return self._defined(owner, study, preset, listed_names(names))

    def of_files(self, owner: str, name: str, source: Source, preset: str = "answers", names: str = "") -> Study:
        """Make a study of generated answers; `names` as above. Raises UsageError that names file and row."""
        preset_named(preset)
        return self.of_items(
            owner, name, source.items(), n=source.n, seed=source.seed, by=source.by, preset=preset, names=names
        )

    def of_items(
        self,
        owner: str,
        name: str,
        items: Sequence[GeneratedItem],
        *,
        n: int = 0,
        seed: int = 0,
        by: str = "",
        preset: str = "answers",
        names: str = "",
    ) -> Study:
        """Make a study of answers, `n` of them drawn with `seed` (0: all); `by`, `names` as above."""
        preset_named(preset)
        if preset == PAIRWISE:
            items = study_items.pairs(items, seed)
        items = study_items.draw(items, n, seed, by)
        copy = study_items.study_of(name, items, seed=seed, find=lambda one: self._found(owner, one))
        return self._defined(owner, self._store.put(owner, copy), preset, listed_names(names))

    def _defined(self, owner: str, study: Study, preset: str, names: Sequence[str]) -> Study:
        chosen = preset_named(preset)
        self._changes.invite(owner, study.id, names)
        return self._changes.change(
            owner,
            study.id,
            preset=preset,
            criteria=with_keys(chosen.criteria),
            guideline=chosen.guideline,
            invited=bool(names),
        )

    def _found(self, owner: str, gold: GoldPassage) -> GoldPassage:
        """Return a gold passage with its document, and its page's text where it has none of its own."""
        if self._documents is None:
            return gold
        wanted = Path(gold.filename).stem.casefold()
        found = [one for one in self._documents.list(owner) if one.state.usable]
        same = [one for one in found if Path(one.filename).stem.casefold() == wanted] if wanted else found
        if len(same) != 1:
            return gold
        document, text = same[0], gold.text
        if not text and 0 < gold.page <= document.page_count:
            try:
                text = self._documents.page(owner, document.id, document.extractor, gold.page).text
            except PdfQAError:
                text = ""
        return GoldPassage(text, document.filename, gold.page, document.id)

    # ------------------------------------------------------------ what it asks

    def define(self, owner: str, study_id: str, criteria: Sequence[Criterion]) -> Study:
        """Give a study other criteria. Raises UsageError where somebody has rated by one of them already."""
        found = self._studies.rated(owner, study_id)
        said = self._store.rated_criteria(study_id)
        check_change(found.criteria, criteria, said)
        return self._changes.change(owner, study_id, criteria=with_keys(criteria))

    def guide(self, owner: str, study_id: str, guideline: str) -> Study:
        """Give a study another guideline."""
        return self._changes.change(owner, study_id, guideline=guideline.strip())

    def rename(self, owner: str, study_id: str, name: str) -> Study:
        """Give a study another name. Raises UsageError if it is taken."""
        return self._changes.change(owner, study_id, name=name)

    # ------------------------------------------------------------ items

    def items(self, owner: str, study_id: str) -> tuple[StudyTurn, ...]:
        """Return the items of a study."""
        return self._store.turns(owner, self._store.get(owner, study_id).id)

    def plant(
        self, owner: str, study_id: str, turn_id: str, role: str, expected: dict[str, str], explanation: str
    ) -> ItemRole:
        """Make an item a training item (shown first, explained after) or a check item (its right values are known).

        `expected` are right values by criterion. An empty `role` makes it an item like others. Raises UsageError for a
        value that is not on the scale.
        """
        if role not in set(ItemRole):
            raise UsageError(f"{role!r} is no kind of item.", "Choose training or check.")
        criteria = {one.name: one for one in self._studies.criteria_of(self._store.get(owner, study_id))}
        for name, value in expected.items():
            asked = criteria.get(name.partition("#")[0])
            if asked is None or (asked.scale and value not in asked.scale):
                choices = ", ".join(asked.scale) if asked else "no such criterion"
                raise UsageError(f"{value!r} is no value of {name!r}: {choices}.")
        if role == ItemRole.CHECK and not expected:
            raise UsageError("A check item needs a right value.", "Say what the right value is.")
        item = next((one for one in self.items(owner, study_id) if one.turn.id == turn_id), None)
        if item is None:
            raise UsageError("There is no such item in this study.", "Open the study again.")
        known = expected if role else {}
        details = replace(item.details, role=ItemRole(role), expected=known, explanation=explanation.strip())
        self._changes.describe(owner, study_id, turn_id, details)
        return details.role

    # ------------------------------------------------------------ state

    def set_state(self, owner: str, study_id: str, state: StudyState) -> Study:
        """Open, close, archive a study, or mark it as deleted; all of that can be undone."""
        return self._changes.change(owner, study_id, state=state)

    def delete(self, owner: str, study_id: str) -> int:
        """Delete a study that is marked as deleted for good; return how many ratings went with it."""
        return self._changes.delete(owner, study_id)

    # ------------------------------------------------------------ people

    def people(self, owner: str, study_id: str) -> tuple[Annotator, ...]:
        """Return who was invited or signed in, also those who were taken out."""
        return self._store.people(self._store.get(owner, study_id).id)

    def invite(self, owner: str, study_id: str, names: str) -> tuple[str, ...]:
        """Let people rate, by names parted by commas; from then on nobody else can sign in. Return who is new."""
        wanted = listed_names(names)
        if not wanted:
            raise UsageError("Write the names of those who rate.", "Ada, Ben")
        added = self._changes.invite(owner, study_id, wanted)
        self._changes.change(owner, study_id, invited=True)
        return added

    def open_to_all(self, owner: str, study_id: str) -> Study:
        """Let anybody sign in by typing a name."""
        return self._changes.change(owner, study_id, invited=False)

    def rename_annotator(self, owner: str, study_id: str, name: str, new: str) -> str:
        """Give an annotator another name; ratings and order stay. Raises UsageError if it is taken."""
        return self._changes.rename(owner, study_id, name, new)

    def remove_annotator(self, owner: str, study_id: str, name: str) -> int:
        """Take somebody out; return how many ratings do not count any more. They come back with `invite`."""
        count = self._changes.remove(owner, study_id, name)
        self._studies.look_if_open(owner, study_id)
        return count

    def bring_back(self, owner: str, study_id: str, name: str) -> None:
        """Bring somebody back who was taken out, with their ratings."""
        self._changes.invite(owner, study_id, [name])
