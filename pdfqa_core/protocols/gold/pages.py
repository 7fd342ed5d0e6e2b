"""Rows that name document, page and quote."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.protocols.gold.base import GoldPlace, GoldRow, place_readers
from pdfqa_core.protocols.gold.rows import page_number, texts


class Pages:
    """document / file / filename / doc_name, page / pages (from 1), quote / quotes."""

    words = "document and page (from 1) or quote"

    def read(self, row: GoldRow, answers: Sequence[str]) -> list[GoldPlace]:
        """Return a place per page and quote."""
        quotes = texts(row, "quotes") or texts(row, "quote")
        given = row.values.get("pages", row.values.get("page"))
        numbers = re.split(r"[;,\s]+", given.strip()) if isinstance(given, str) else given
        listed = numbers if isinstance(numbers, list) else [] if numbers is None else [numbers]
        pages = [page_number(one, row) for one in listed if one != ""]
        return [GoldPlace(row.document, page, quote) for page in pages for quote in quotes or ("",)]


place_readers.register("pages")(Pages())
