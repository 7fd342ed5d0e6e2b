"""The authors that a first page prints below its title; nothing where it is not plain that they are authors.

Names alone are no sign: "New York" and "Annual Report" look the same. There has to be a label ("By …"), or below the
names an address, a university or an abstract.
"""

from __future__ import annotations

import re

from pdfqa_core.text import terms
from pdfqa_core.types import READABLE, BlockKind, Page

MOST = 12  # names
LOOKED_AT = 8  # blocks of the page
LONG = 40  # words: from here on it is the text itself
_SURE = 2  # names that an abstract below is enough for

_LABEL = re.compile(r"^(?:written by|by|authors?|von|autor(?:en|in|innen)?)(?:\s*:\s*|\s+)(?=\S)", re.IGNORECASE)
_MAIL = re.compile(r"\S*[{(]?[\w.,\s-]*[)}]?@\S+")
_MARKS = re.compile(r"[\d*†‡§¶∗⋆#ª°¹²³⁰-⁹]+(?:\s*,\s*[\d*†‡§¶∗⋆#¹²³⁰-⁹]+)*|\((?:[^()]{0,40})\)")
_BETWEEN = re.compile(r"\s*(?:[;,&·•|\n]|\band\b|\bund\b)\s*")
_INITIAL = r"[^\W\d_a-zß-ÿ]\."
_CAPITAL = r"[^\W\d_a-zß-ÿ](?:[^\W\d_]|['’-](?=[^\W\d_]))+"
_SMALL = r"(?:van|von|de|der|den|del|della|di|da|dos|la|le|el|al|bin|ibn|ter|ten|zu|zur)"
_NAME = re.compile(rf"(?:{_CAPITAL}|{_INITIAL})(?:[ -]?(?:{_INITIAL}|{_SMALL}|{_CAPITAL})){{0,3}} {_CAPITAL}")
_HOME = re.compile(
    r"@|\b(?:universit|universidad|institut|department|dept\b|laborator|hochschule|college\b|school of|faculty|fakult|"
    r"research cent|academy|inria|cnrs|orcid)",
    re.IGNORECASE,
)
_ABSTRACT = re.compile(r"^(?:abstract|summary|zusammenfassung|kurzfassung|r[ée]sum[ée])\b", re.IGNORECASE)
_NO_NAME = frozenset(
    """abstract academy agreement analysis and annual association bank board bureau business center centre chapter
    city college commission committee company congress contents corporation council county data department design
    division document draft edition electronics engineering executive faculty final financial first form foundation
    general government group guide handbook health higher inc institute international introduction january february
    march april may june july august september october november december journal kingdom laboratory limited llc ltd
    manual management ministry monitoring monday tuesday wednesday thursday friday saturday sunday national new
    north office page overview part plan policy press proceedings program project public published quarterly report
    research review revised school science sciences second section securities security south state states street
    studies study summary systems table technical technology the third united university version volume west winter
    working works world your""".split()
)


def authors_on(page: Page, title: str = "") -> str:
    """Return the authors that a page prints below the document's title, parted by "; "; empty where none is plain."""
    blocks = [block for block in page.blocks if block.kind in READABLE][:LOOKED_AT]
    texts = [page.text[block.start : block.end].strip() for block in blocks]
    titled = set(terms(title))
    for place, (block, text) in enumerate(zip(blocks, texts, strict=True)):
        if _ABSTRACT.match(text) or len(text.split()) > LONG:
            return ""
        label = _LABEL.match(text)
        names = _names(text[label.end() :] if label else text)
        if not names or set(terms(text)) <= titled:
            continue
        below = texts[place + 1 : place + 4]
        home = _HOME.search(text) is not None or any(_HOME.search(one) for one in below[:2] if len(one.split()) <= LONG)
        summed_up = len(names) >= _SURE and any(_ABSTRACT.match(one) for one in below)
        if label or summed_up or (home and (len(names) >= _SURE or block.kind is not BlockKind.HEADING)):
            return "; ".join(names[:MOST])
    return ""


def _names(text: str) -> list[str]:
    """Return the names that a text consists of; none where anything else stands in it but addresses and marks."""
    lines = [line for line in text.splitlines() if not _HOME.search(_MAIL.sub("", line))]
    plain = _MARKS.sub(" ", "\n".join(_MAIL.sub("", line) for line in lines))
    parts = [" ".join(part.split()) for part in _BETWEEN.split(plain)]
    found = [part.strip(" .") for part in parts if part.strip(" .,")]
    known = all(_NAME.fullmatch(part) and not _NO_NAME & {word.casefold() for word in part.split()} for part in found)
    return list(dict.fromkeys(found)) if known else []
