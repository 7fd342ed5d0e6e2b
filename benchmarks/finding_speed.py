"""Finding words in documents and conversations (Ctrl+K): 20 documents of 100 pages and 500 answers, by the clock.

Words are drawn so that few are frequent, as in a language, 400 a page. Sought are one word, two, a phrase, and a word
that stands nowhere. Baseline: the same words sought in the texts of all pages, which are in memory already, one after
the other. Rounds in turn, the least of seven. Nothing needs to be downloaded.

    python benchmarks/finding_speed.py [--quick] [--documents 20] [--pages 100] [--turns 500]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.services import LOCAL_OWNER, Services  # noqa: E402
from pdfqa_core.services.documents import name_of  # noqa: E402
from pdfqa_core.services.finding import has_all, phrases_of  # noqa: E402
from pdfqa_core.settings import Settings  # noqa: E402
from pdfqa_core.storage import Store  # noqa: E402
from pdfqa_core.types import Answer, Document, Page, Turn  # noqa: E402

VOCABULARY, ON_A_PAGE, IN_AN_ANSWER, ROUNDS = 20_000, 400, 60, 7
QUERIES = {
    "a frequent word": "word3",
    "a rare word": "word4321",
    "two words": "word12 word345",
    "a phrase": '"word0 word1"',
    "a word that stands nowhere": "nowhere",
}


class Words:
    """Texts of drawn words: the n-th of the vocabulary, from 0, is drawn with weight 1 / (n + 2)."""

    def __init__(self) -> None:
        self._rng = random.Random(0)
        self._words = [f"word{n}" for n in range(VOCABULARY)]
        self._weights = list(accumulate(1 / (n + 2) for n in range(VOCABULARY)))

    def text(self, length: int) -> str:
        """Return so many words."""
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=length))


def fill(workspace: Path, settings: Settings, chosen: argparse.Namespace) -> list[str]:
    """Write documents and conversations behind the program's back, and return the texts of all pages."""
    words, texts, now = Words(), [], datetime(2026, 1, 1, tzinfo=UTC)
    with Store.open(workspace, "") as store:
        for n in range(chosen.documents):
            key = f"{n:064x}"
            made = [words.text(ON_A_PAGE) for _ in range(chosen.pages)]
            pages = [Page(key, number, str(number), 595, 842, text) for number, text in enumerate(made, 1)]
            document = Document(key, f"Report {n}", f"r{n}.pdf", len(pages), now, LOCAL_OWNER)
            store.documents.add(document, name_of(settings.extraction), pages)
            texts += made
        conversation = store.conversations.create(LOCAL_OWNER, "Talk")
        for n in range(chosen.turns):
            turn = Turn(f"t{n}", 0, f"What of word{n}?", "", Answer(words.text(IN_AN_ANSWER)))
            store.conversations.append_turn(LOCAL_OWNER, conversation.id, turn)
    return texts


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes by the clock."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def read_all(texts: Sequence[str], query: str) -> int:
    """Return in how many texts all words of a query stand: each is read."""
    phrases = phrases_of(query)
    return sum(has_all(text, phrases) for text in texts)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--pages", type=int, default=100, help="of each document")
    parser.add_argument("--turns", type=int, default=500, help="answers in conversations")
    parser.add_argument("--quick", action="store_true", help="a few documents, under 45 s")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.documents, chosen.pages, chosen.turns = 4, 20, 50
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings()
        with Services.open(Path(folder), settings) as services:
            texts = fill(Path(folder), settings, chosen)
            print(f"{chosen.documents} documents of {chosen.pages} pages, {chosen.turns} answers")
            first = seconds(lambda: services.finding.find(LOCAL_OWNER, "word3"))
            print(f"the first search, which puts all pages into the index: {first:.2f} s\n")
            print(f"{'':<28}{'search':>9}{'read all':>10}{'ratio':>8}")
            for name, query in QUERIES.items():
                found, read = [], []
                for _ in range(ROUNDS):
                    found.append(seconds(lambda query=query: services.finding.find(LOCAL_OWNER, query)))
                    read.append(seconds(lambda query=query: read_all(texts, query)))
                print(f"{name:<28}{min(found):>7.3f} s{min(read):>8.3f} s{min(read) / min(found):>8.1f}")


if __name__ == "__main__":
    main()
