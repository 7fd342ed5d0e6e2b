"""Pages under items of studies. When a document is removed, pictures of the pages that items show stay with them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pdfqa_core.errors import PdfQAError
from pdfqa_core.services.pages import PageService
from pdfqa_core.services.readings import Claim
from pdfqa_core.storage.records import KeptPicture
from pdfqa_core.storage.study_changes import StudyChanges
from pdfqa_core.types import Passage

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
