"""From the dropped PDF to the first word of an answer, and to "searchable by meaning", as the page does it.

Through the services, without a browser: a file is begun to be read, the moment its document is there a question about
it is asked (as fast as a person could at best), and its meaning is read in the background meanwhile. For files of 8,
109 and 160 pages; cold: in a process that has loaded no model (they load while the file is read, as after the start of
the app), warm: again in the same process, in a new workspace. Before, the baseline of the ratio: torch in the encoder's
place, and all passages encoded before the first answer.

    python benchmarks/first_answer.py [--quick] [--model NAME] [--pages 8 109 160]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from common import in_child, joined, options, row, there

from pdfqa_core.models import Encoders, Models
from pdfqa_core.retrieval import Encoder
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Retrieved, Stored, Token

PLACES = ("read", "evidence", "first word", "answer", "by meaning")
BEFORE, COLD, WARM = "before", "cold", "warm"
NORTHWIND = "northwind/Northwind_Health_Plus_Benefits_Details.pdf"
QUESTIONS = {
    8: "How many flats does Ropewalk Court have?",
    109: "What is the deductible of the plan?",
    160: "What were the total net sales of Apple?",
}


def pdf(pages: int, data: Path, copy: Path) -> Path:
    """Return a copy of the PDF of so many pages."""
    if pages in (8, 109):
        source = data / NORTHWIND if pages == 109 else next(SAMPLE.glob("*.pdf"))
        there(source)
        return Path(shutil.copy(source, copy))
    there(data / "aapl_10q")
    return joined(sorted((data / "aapl_10q").glob("*.pdf")), pages, copy)


def measured(data: Path, pages: int, settings: Settings, *, before: bool) -> dict[str, float]:
    """Return seconds from the drop: to the document, the evidence, the first word, the answer, the whole index."""
    with tempfile.TemporaryDirectory() as folder:
        models = Models.open(Path(folder), settings)
        if before:
            models = Models(Encoders(lambda name, _: Encoder(name)), models.language, models.files)
        with Services.open(Path(folder), settings, models) as services:
            services.models.warm_up()
            file = pdf(pages, data, Path(folder) / "dropped.pdf")
            began, seconds = time.perf_counter(), {}
            if before:
                list(services.documents.ingest(LOCAL_OWNER, [file]))
                seconds["read"] = time.perf_counter() - began
                list(services.index.build(LOCAL_OWNER, settings))
                seconds["by meaning"] = time.perf_counter() - began
            else:
                list(services.documents.jobs.begin(LOCAL_OWNER, [file], extraction=settings.extraction).events())
                seconds["read"] = time.perf_counter() - began
            for event in services.answers.ask(LOCAL_OWNER, QUESTIONS[pages], settings, anyway=True):
                now = time.perf_counter() - began
                if isinstance(event, Retrieved):
                    seconds["evidence"] = now
                elif isinstance(event, Token | Stored):  # quotes have no tokens
                    seconds.setdefault("first word", now)
                    seconds["answer"] = now
            while not services.index.ready(LOCAL_OWNER, settings):
                time.sleep(0.05)
            seconds.setdefault("by meaning", time.perf_counter() - began)
    return seconds


def main() -> None:
    parser = options(__doc__, quick="the sample only, with SmolLM2")
    parser.add_argument("--model", default="", help="name in the catalogue; the default one unless given")
    parser.add_argument("--pages", type=int, nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--ways", nargs="+", help=argparse.SUPPRESS)  # a child of this script
    chosen = parser.parse_args()
    model, sizes = ("smollm2-135m", [8]) if chosen.quick else (chosen.model, chosen.pages)
    if chosen.ways:
        settings = Settings().changed("llm", model=model) if model else Settings()
        ways = {way: measured(chosen.data, sizes[0], settings, before=way == BEFORE) for way in chosen.ways}
        print(json.dumps(ways))
        return
    for size in sizes:
        row(f"{size} pages, seconds from the drop to", *PLACES, first=36)
        found = {}
        for ways in ((BEFORE,), (COLD, WARM)):
            given = ("--data", chosen.data, "--pages", size, "--model", model, "--ways", *ways)
            found |= in_child(__file__, *given)
        for way, seconds in found.items():
            row(way, *(f"{seconds[place]:.1f}" for place in PLACES), first=36)
        print(f"first word, before / cold: {found[BEFORE]['first word'] / found[COLD]['first word']:.1f}")


if __name__ == "__main__":
    main()
