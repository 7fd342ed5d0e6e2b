"""A document as an entry of a bibliography: BibTeX and CSL-JSON, of what the file itself says.

Nothing is guessed: a title comes from the document properties, never from a file name or a large heading, and what the
file does not say is named. The kind of publication is not known, so an entry is a `misc`, a preprint for arXiv.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdfqa_core.exports.frames import latex_escape
from pdfqa_core.extraction.layout.outline import choose_authors, stated_title
from pdfqa_core.extraction.process.properties import FileProperties

_MADE = re.compile(r"(?:D:)?((?:19|20)\d\d)(\d\d)?(\d\d)?(\d{6})?")
_NO_DATE = ("197001010", "198001010", "200001010")  # what programs write that must not tell the time
_DOI = re.compile(r"\b(10\.\d{4,9}/[^\s\"<>{}|\\^`]+)")
_ARXIV = re.compile(
    r"\barXiv:\s?((?:\d{4}\.\d{4,5})|(?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}))(?:v\d+)?(?:\s*\[([\w.-]+)\])?", re.IGNORECASE
)
_BETWEEN_NAMES = re.compile(r"[;\r\n|]+|\s+(?:and|&)\s+")
_PARTICLES = frozenset("van von der den de del della di da dos du la le ten ter zu zur".split())
_ORGANISATION = re.compile(
    r"\b(?:of|for|the|und|inc|ltd|llc|plc|gmbh|ag|corp\w*|compan\w*|universit\w*|institut\w*|departments?|ministry|"
    r"offices?|banks?|groups?|councils?|committee|agency|works|health|services?|associations?|foundation|society|"
    r"cent(?:er|re)|team|bureau|commission|consortium|federation|union|authority|network|laborator\w*|college|school)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Author:
    """A person by family name and given names; where `given` is empty, `family` is the whole name as it is written."""

    family: str
    given: str = ""

    @property
    def words(self) -> str:
        """The name as it is read."""
        return f"{self.given} {self.family}".strip()


@dataclass(frozen=True, slots=True)
class Source:
    """A document as a bibliography knows it. `date` is year, month and day, or as many of them as are known.

    `problem` says why the file could not be asked.
    """

    filename: str
    title: str = ""
    authors: tuple[Author, ...] = ()
    date: tuple[int, ...] = ()
    doi: str = ""
    arxiv: str = ""
    arxiv_class: str = ""
    problem: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """What an entry needs and the file does not say."""
        known = {"title": self.title, "author": self.authors, "date": self.date}
        return tuple(name for name, value in known.items() if not value)

    @property
    def missing_words(self) -> str:
        """The sentence that says so; empty where nothing is missing."""
        *first, last = [f"its {name}" for name in self.missing] or [""]
        said = f"{', '.join(first)} and {last}" if first else last
        return f"The file does not say {said}." if said else ""

    @property
    def url(self) -> str:
        """Where the document is found; empty without DOI and arXiv id."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""

    @property
    def words(self) -> str:
        """The entry for people, with what is missing: "Ann Smith: Granite. 2023. https://doi.org/… (granite.pdf)"."""
        if self.problem:
            return f"{self.filename}: {self.problem}"
        names = ", ".join(author.words for author in self.authors)
        parts = (
            ": ".join(part for part in (names, self.title) if part),
            str(self.date[0]) if self.date else "",
            self.missing_words.removesuffix("."),
        )
        said = "".join(f"{part}. " for part in parts if part)
        return said + " ".join(part for part in (self.url, f"({self.filename})") if part)


def source_of(properties: FileProperties, filename: str) -> Source:
    """Return what a file says for a bibliography: its properties, and a DOI or arXiv id of its first page.

    An id counts where it is the only one there; one of arXiv also where it alone has its subject ("[cs.CL]") behind it.
    """
    arxiv, subject = _arxiv(properties.first_page)
    return Source(
        filename,
        stated_title(properties.title),
        _authors(properties.author),
        _arxiv_date(arxiv) or _date(properties.created),
        _doi(properties.first_page),
        arxiv,
        subject,
    )


def _date(made: str) -> tuple[int, ...]:
    found = _MADE.match(made.strip())
    if found is None or made.strip().removeprefix("D:").startswith(_NO_DATE):
        return ()
    year, month, day = (int(part or 0) for part in found.groups()[:3])
    return (year, *((month, *((day,) if 1 <= day <= 31 else ())) if 1 <= month <= 12 else ()))


def _doi(text: str) -> str:
    found = set()
    for match in _DOI.finditer(text):
        doi = match[1].rstrip(".,;:'’”*")
        while doi.endswith((")", "]")) and doi.count(doi[-1]) > doi.count("(" if doi[-1] == ")" else "["):
            doi = doi[:-1].rstrip(".,;:")
        cut = text[match.end() : match.end() + 1] in ("\n", "\r") and match[1][-1] in "-/_"
        if not cut:
            found.add(doi.lower())
    return found.pop() if len(found) == 1 else ""


def _arxiv(text: str) -> tuple[str, str]:
    found = dict.fromkeys((match[1], match[2] or "") for match in _ARXIV.finditer(text))
    stamped = [one for one in found if one[1]]
    only = stamped if len(stamped) == 1 else list(found)
    return only[0] if len(only) == 1 else ("", "")


def _arxiv_date(identifier: str) -> tuple[int, ...]:
    """Return year and month of an arXiv id: 1706.03762 is of June 2017, hep-th/9901001 of January 1999."""
    digits = identifier.rpartition("/")[2][:4]
    if not digits.isdigit() or not 1 <= int(digits[2:]) <= 12:
        return ()
    year = int(digits[:2])
    return (year + (1900 if year > 90 else 2000), int(digits[2:]))


def _authors(stated: str) -> tuple[Author, ...]:
    names: list[str] = []
    for part in _BETWEEN_NAMES.split(stated):
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        several = len(pieces) > 1 and all(len(piece.split()) > 1 and "." not in piece.split()[-1] for piece in pieces)
        names += pieces if several else [part.strip(" ,\t")]
    kept = dict.fromkeys(clean for name in names if (clean := choose_authors(name)))
    return tuple(_author(name) for name in kept)


def _author(name: str) -> Author:
    """Return a name in its parts where they are plain to see, else as it is written."""
    family, comma, given = (part.strip() for part in name.partition(","))
    if comma and given and "," not in given and not _ORGANISATION.search(name):
        return Author(family, given)
    words = name.split()
    capital = [word for word in words if word.lower() not in _PARTICLES and not re.fullmatch(r"(?:\w\.-?)+", word)]
    plain = all(word[0].isupper() for word in capital) and not any(c.isdigit() for c in name)
    if comma or not plain or not 1 <= len(capital) <= 3 or len(words) < 2 or _ORGANISATION.search(name):
        return Author(name)
    first = len(words) - 1
    while first > 1 and words[first - 1].lower() in _PARTICLES:
        first -= 1
    return Author(" ".join(words[first:]), " ".join(words[:first]))


# ------------------------------------------------------------------ BibTeX


def bibtex(sources: Sequence[Source]) -> str:
    """Return BibTeX entries of sources that lack nothing."""
    return "\n".join(_entry(source, key) for source, key in zip(sources, _keys(sources), strict=True))


def _entry(source: Source, key: str) -> str:
    fields = {
        "author": " and ".join(_bibtex_name(author) for author in source.authors),
        "title": f"{{{latex_escape(source.title)}}}",
        "year": str(source.date[0]),
        "month": f"{source.date[1]:02d}" if len(source.date) > 1 else "",
        "eprint": source.arxiv,
        "archiveprefix": "arXiv" if source.arxiv else "",
        "primaryclass": source.arxiv_class,
        "doi": source.doi,
        "url": source.url,
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{key},", *lines, "}"]) + "\n"


def _bibtex_name(author: Author) -> str:
    family, given = latex_escape(author.family), latex_escape(author.given)
    return f"{family}, {given}" if given else f"{{{family}}}"


def _keys(sources: Sequence[Source]) -> list[str]:
    """Return a key for each: first author, year and first long word of the title; numbered where two are alike."""
    found: list[str] = []
    times: Counter[str] = Counter()
    for source in sources:
        words = [_ascii(word) for word in source.title.split()]
        word = next((word for word in words if len(word) > 3), "".join(words)[:12])
        key = f"{_ascii(source.authors[0].family.split()[-1])}{source.date[0]}{word}"
        times[key] += 1
        found.append(key if times[key] == 1 else f"{key}-{times[key]}")
    return found


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]", "", plain.lower())


# ------------------------------------------------------------------ CSL-JSON


def csl(sources: Sequence[Source]) -> str:
    """Return sources that lack nothing as CSL-JSON (schema of CSL 1.0.2)."""
    items = [_item(source, key) for source, key in zip(sources, _keys(sources), strict=True)]
    return json.dumps(items, ensure_ascii=False, indent=1) + "\n"


def _item(source: Source, key: str) -> dict[str, Any]:
    fields = {
        "id": key,
        "type": "article" if source.arxiv else "document",  # CSL's "article" is a preprint
        "title": source.title,
        "author": [
            {"family": one.family, "given": one.given} if one.given else {"literal": one.family}
            for one in source.authors
        ],
        "issued": {"date-parts": [list(source.date)]},
        "DOI": source.doi,
        "URL": source.url,
        "number": f"arXiv:{source.arxiv}" if source.arxiv else "",
        "publisher": "arXiv" if source.arxiv else "",
    }
    return {name: value for name, value in fields.items() if value}


FORMS = {"bibtex": bibtex, "csl": csl}
