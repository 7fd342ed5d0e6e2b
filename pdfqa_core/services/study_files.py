"""Studies that come and go: as a ZIP for another workspace, and ratings that were made in a spreadsheet."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import MutableSequence, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pdfqa_core.csv_format import CsvTable, as_utf8, read_csv, write_csv
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.frames import write_frame
from pdfqa_core.exports.studies import RatingsFile, read_study, write_study
from pdfqa_core.json_codec import parse_json
from pdfqa_core.protocols import rating_tables
from pdfqa_core.protocols.conversations import Plan
from pdfqa_core.protocols.rating_tables import Choices, Columns, choices_of, template
from pdfqa_core.protocols.study_measures import with_others
from pdfqa_core.services.pages import PageService
from pdfqa_core.services.readings import Claim
from pdfqa_core.services.study_reports import HIDDEN, file_name
from pdfqa_core.storage.records import SEAT, KeptPicture, StudyCopy
from pdfqa_core.storage.studies import Studies
from pdfqa_core.storage.study_changes import StudyChanges
from pdfqa_core.study_types import Criterion, Study
from pdfqa_core.types import Passage

if TYPE_CHECKING:
    from pdfqa_core.services.studies import StudyService

# ----------------------------------------------------------------------------------------------------
# Pages under items of studies. When a document is removed, pictures of the pages that items show stay with them.

MOST = 400  # pictures that the removal of one document keeps; about 150 KB each
WIDTH = 1000  # pixels
GOLD = "gold"  # stands for the passage of a page of a gold answer
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Wanted:
    study_id: str
    page: int
    passage: Passage | None


class StudyPages:
    """Keeps the pictures of pages that items of studies show."""

    def __init__(self, changes: StudyChanges, pages: PageService) -> None:
        self._changes = changes
        self._pages = pages

    def before_removal(self, owner: str, document_id: str) -> None:
        """Keep what a study shows of a document that is about to be removed. What cannot be drawn is left out."""
        try:
            wanted = self._wanted(owner, document_id)
        except PdfQAError as error:
            _log.warning("no pictures are kept of %s: %s", document_id[:12], error)
            return
        drawn: dict[tuple[int, str], KeptPicture] = {}
        found: dict[str, list[KeptPicture]] = {}
        for one in wanted[:MOST]:
            key = one.page, one.passage.id if one.passage else GOLD
            try:
                if key not in drawn:
                    claims = [Claim(span, one.passage.text) for span in one.passage.spans] if one.passage else []
                    picture = self._pages.marked(owner, document_id, one.page, claims, width=WIDTH)
                    drawn[key] = KeptPicture(document_id, *key, picture.mime, picture.data)
                found.setdefault(one.study_id, []).append(drawn[key])
            except PdfQAError as error:
                _log.warning("no picture of page %d of %s is kept: %s", one.page, document_id[:12], error)
        if found:
            self._changes.keep_pictures(found)

    def _wanted(self, owner: str, document_id: str) -> list[_Wanted]:
        found = []
        for study_id, turn in self._changes.rated_pages(owner, document_id):
            for hit in turn.answer.hits:
                if hit.passage.document_id == document_id:
                    found += [_Wanted(study_id, page, hit.passage) for page in hit.passage.pages]
        found += [_Wanted(study_id, page, None) for study_id, page in self._changes.gold_pages(owner, document_id)]
        return found

    def picture(self, study_id: str, document_id: str, passage_id: str, page: int = 0) -> KeptPicture | None:
        """Return the picture that was kept of a passage's page, or of a gold answer's ("gold"); None without one."""
        return self._changes.picture(study_id, document_id, passage_id or GOLD, page)


# ----------------------------------------------------------------------------------------------------
# Studies that come and go: as a ZIP for another workspace, and ratings that were made in a spreadsheet.

_PARQUET = b"PAR1"  # how such files begin


class StudyFiles:
    """Takes the studies of each owner along, and brings them in. Methods raise UsageError and StorageError."""

    def __init__(self, store: Studies, studies: StudyService) -> None:
        self._store = store
        self._studies = studies

    def file(self, owner: str, study_id: str, viewer: str | None) -> RatingsFile:
        """Return a study as a ZIP; a `viewer` of None is the owner at the command line.

        Raises UsageError as long as its ratings are not open to the viewer.
        """
        if not self._studies.standing(owner, study_id).open_to(viewer):
            raise UsageError(HIDDEN, "At the command line: pdfqa study export.")
        copy = self._store.copy(owner, study_id)
        data = write_study(replace(copy, study=replace(copy.study, owner="")))
        return RatingsFile(file_name("study", copy.study.name, "zip"), data, len(copy.ratings))

    def take_in(self, owner: str, source: Path | bytes, filename: str, name: str = "") -> Study:
        """Store the study of a ZIP, under another name if one is given, and return it.

        Raises UsageError: no such file, the name is taken, the study is here already, or ratings that do not fit it.
        """
        copy = read_study(source, filename)
        _check(copy, filename, self._studies.criteria_of(copy.study))
        named = replace(copy.study, name=name.strip() or copy.study.name)
        return self._store.put(owner, replace(copy, study=named))

    def of_table(
        self, owner: str, data: bytes, name: str, columns: Columns, notes: MutableSequence[str] | None = None
    ) -> Study:
        """Make a study of answers and judgements in a table, and return it. Raises UsageError that names the rows.

        `notes` gets a sentence on what was left out.
        """
        if not name.strip():
            raise UsageError("A study needs a name.")
        copy, told = rating_tables.study_of_table(as_csv(data), name.strip(), columns, self._studies.criteria)
        if notes is not None:
            notes.extend(told)
        return self._store.put(owner, copy)

    def add_ratings(
        self,
        owner: str,
        study_id: str,
        data: bytes,
        columns: Columns,
        sign_in: Sequence[str] = (),
        *,
        on_page: bool = False,
        all_named: bool = False,
    ) -> int:
        """Save the ratings of a table in a study, all or none; return how many. `sign_in` are new annotators in it.

        With `all_named` everybody is whom the table names and who is not there yet. `on_page`: ratings of somebody who
        was invited are refused, as they rate by their own link. Raises UsageError for anybody but the owner, and one
        that names the cells: an item, annotator, criterion or value that the study does not know.
        """
        _require_owner(owner)
        found = self._studies.rated(owner, study_id)
        criteria = with_others(found.criteria, found.ratings)
        said = rating_tables.read_said(as_csv(data), columns)
        there = {name.casefold() for name in (*found.progress, *sign_in)}
        new = {one.annotator.casefold(): one.annotator for one in reversed(said) if all_named and one.annotator}
        sign_in = [*sign_in, *(name for key, name in new.items() if key not in there)]
        names = list(dict.fromkeys((*found.progress, *sign_in)))
        ratings = rating_tables.ratings_of(said, found.study, found.turns, names, criteria, columns.values)
        for name in dict.fromkeys((*sign_in, *(one.annotator for one in ratings))) if on_page else sign_in:
            self._studies.check_name(owner, study_id, name)
        self._studies.take(owner, study_id, ratings, sign_in)
        return len(ratings)

    def table(self, owner: str, study_id: str, data: bytes) -> tuple[CsvTable, Choices]:
        """Return a table of ratings, and what its columns can hold, for the owner. Raises UsageError."""
        _require_owner(owner)
        table = read_csv(as_csv(data))
        found = self._studies.rated(owner, study_id)
        criteria = with_others(found.criteria, found.ratings)
        return table, choices_of(found.turns, criteria, list(found.progress))

    def template(self, owner: str, study_id: str) -> RatingsFile:
        """Return a table of a study's items to fill in, without anybody's ratings, for the owner. Raises UsageError."""
        _require_owner(owner)
        found = self._studies.rated(owner, study_id)
        data = template(found.turns, found.criteria, list(found.progress))
        return RatingsFile(file_name("to-rate", found.study.name, "csv"), data, len(found.turns))


def write_plan(plan: Plan) -> str:
    """Return the plan of a protocol as it is stored."""
    return json.dumps(asdict(plan), ensure_ascii=False)


def read_plan(written: str) -> Plan:
    """Return a plan that was stored."""
    data = json.loads(written)
    lists = {name: tuple(data[name]) for name in ("evaluators", "questions", "document_ids")}
    return Plan(**{**data, **lists})


def _require_owner(owner: str) -> None:
    if owner.startswith(SEAT):
        raise UsageError("Ratings of a spreadsheet are brought in by the owner of the study.", "Send them the table.")


def as_csv(data: bytes) -> bytes:
    """Return a table of ratings as CSV; JSON lines and Parquet, as ratings are exported too, are turned into it.

    Text may be in the encodings of `as_utf8`. Raises UsageError that names the line.
    """
    if data[: len(_PARQUET)] == _PARQUET:
        from pandas import read_parquet

        try:
            return write_frame(read_parquet(io.BytesIO(data)))
        except (ValueError, OSError) as error:
            raise UsageError(f"The Parquet file cannot be read: {error}.", "Export it again.") from error
    if not data.lstrip().startswith(b"{"):
        return as_utf8(data)
    rows = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        row = parse_json(line, "The table", number)
        if not isinstance(row, dict):
            raise UsageError(f"Line {number} is no JSON object.", "Export the file again.")
        rows.append(row)
    header = list(dict.fromkeys(name for row in rows for name in row))
    return write_csv(header, [["" if row.get(name) is None else str(row[name]) for name in header] for row in rows])


def _check(copy: StudyCopy, filename: str, criteria: Sequence[Criterion]) -> None:
    """Raise UsageError where the parts of a study do not fit together."""
    turns = {one.turn.id for one in copy.turns}
    items = turns | {f"{one.turn.id}#{hit.rank}" for one in copy.turns for hit in one.turn.answer.hits}
    people = {one.name for one in copy.annotators}
    if set(copy.study.turn_ids) != turns or len(copy.study.turn_ids) != len(copy.turns) or not (turns or copy.plan):
        raise UsageError(f"{filename}: the study's answers are not all there.", "Export it again.")
    if any(not hit.passage.spans for one in copy.turns for hit in one.turn.answer.hits):
        raise UsageError(f"{filename}: a passage is without its place.", "Export it again.")
    rated = [(one.item_id, one.study_id) for one in copy.ratings]
    rated += [(one.item_id, one.study_id) for one in copy.adjudications]
    rated += [(one.item_id, one.study_id) for one in copy.revisions]
    rated += [(one.turn_id, one.study_id) for one in copy.skips]
    for item_id, study_id in rated:
        known = item_id in items or (item_id.partition("#+")[0] in turns and "#+" in item_id)
        if not known or study_id != copy.study.id:
            raise UsageError(f"{filename}: {item_id!r} is rated, but not part of the study.", "Export it again.")
    talks = {one.conversation_id for one in copy.turns}
    if any(one.annotator not in people or one.conversation_id not in talks for one in copy.held):
        raise UsageError(f"{filename}: the roster names a conversation or a person that is not there.", "Export again.")
    try:
        named = set(read_plan(copy.plan).evaluators) if copy.plan else set()
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{filename}: the plan of the protocol cannot be read: {error}.", "Export again.") from error
    if not named <= people:
        raise UsageError(f"{filename}: the plan names somebody who is not there.", "Export again.")
    scales = {one.name: one.scale for one in criteria if not one.is_text}
    for one in (*copy.ratings, *copy.revisions):
        if one.annotator not in people:
            raise UsageError(f"{filename}: {one.annotator!r} rated, but has not signed in.", "Export it again.")
        if one.value not in scales.get(one.criterion, (one.value,)):
            raise UsageError(f"{filename}: {one.value!r} is no value of {one.criterion!r}.", "Export it again.")
