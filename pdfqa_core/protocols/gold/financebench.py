"""FinanceBench rows: `evidence` with `evidence_text` and `evidence_page_num`, which is counted from 0."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.protocols.gold.base import GoldPlace, GoldRow, place_readers
from pdfqa_core.protocols.gold.rows import page_number


class FinanceBench:
    """A list of objects under `evidence`."""

    words = "FinanceBench's evidence (evidence_page_num from 0)"

    def read(self, row: GoldRow, answers: Sequence[str]) -> list[GoldPlace]:
        """Return a place per piece of evidence that names its page."""
        evidence = row.values.get("evidence")
        found = []
        for entry in evidence if isinstance(evidence, list) else []:
            if isinstance(entry, dict) and "evidence_page_num" in entry:
                page = page_number(entry["evidence_page_num"], row, least=0) + 1
                name = str(entry.get("doc_name") or entry.get("evidence_doc_name") or row.document)
                found.append(GoldPlace(name, page, str(entry.get("evidence_text") or "")))
        return found


place_readers.register("financebench")(FinanceBench())
