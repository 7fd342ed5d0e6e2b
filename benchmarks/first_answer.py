"""From the dropped PDF to the first word of an answer, and to "searchable by meaning", as the page does it.

Through the services, without a browser: a file is begun to be read, the moment its document is there a question about
it is asked (as fast as a person could at best), and its meaning is read in the background meanwhile. For files of 8,
109 and 160 pages; cold: in a process that has loaded no model (they load while the file is read, as after the start of
the app), warm: again in the same process, in a new workspace. Before, the baseline of the ratio: torch in the encoder's
place, and all passages encoded before the first answer.

    python benchmarks/first_answer.py [--quick] [--model NAME] [--pages 8,109,160]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from pdfqa_core.models import Encoders, Models  # noqa: E402
from pdfqa_core.retrieval import Encoder  # noqa: E402
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services  # noqa: E402
from pdfqa_core.settings import Settings  # noqa: E402
from pdfqa_core.types import Retrieved, Stored, Token  # noqa: E402

PLACES = ("read", "evidence", "first word", "answer", "by meaning")
SHARED = ROOT.parent / "shared" / "data"
GOAL = 10.0  # seconds from the drop to the first word, for 110 pages
QUESTIONS = {
    8: "How many flats does Ropewalk Court have?",
    109: "What is the deductible of the plan?",
    160: "What were the total net sales of Apple?",
}


def pdf(pages: int, folder: Path) -> Path | None:
    """Return a copy of the PDF of about so many pages, None where it is not here."""
    copy = folder / f"{pages}.pdf"
    if pages == 8:
        copy.write_bytes(next(SAMPLE.glob("*.pdf")).read_bytes())
        return copy
    if pages == 109:
        source = SHARED / "northwind" / "Northwind_Health_Plus_Benefits_Details.pdf"
        if source.is_file():
            copy.write_bytes(source.read_bytes())
            return copy
        return None
    return _joined(sorted((SHARED / "aapl_10q").rglob("*.pdf")), pages, copy)


def _joined(sources: list[Path], pages: int, target: Path) -> Path | None:
    import pypdfium2

    if not sources:
        return None
    with pypdfium2.PdfDocument.new() as whole:
        while len(whole) < pages:
            for source in sources:
                with pypdfium2.PdfDocument(source) as part:
                    whole.import_pages(part)
        for number in range(len(whole) - 1, pages - 1, -1):
            whole.del_page(number)
        whole.save(target)
    return target


def measured(file: Path, question: str, settings: Settings, *, before: bool) -> dict[str, float]:
    """Return seconds from the drop: to the document, the evidence, the first word, the answer, the whole index."""
    with tempfile.TemporaryDirectory() as folder:
        models = Models.open(Path(folder), settings)
        if before:
            models = Models(Encoders(lambda name, _: Encoder(name)), models.language, models.files)
        with Services.open(Path(folder), settings, models) as services:
            services.models.warm_up()
            copy = Path(folder) / file.name
            copy.write_bytes(file.read_bytes())
            began, seconds = time.perf_counter(), {}
            if before:
                list(services.documents.ingest(LOCAL_OWNER, [copy]))
                seconds["read"] = time.perf_counter() - began
                list(services.indexes.build(LOCAL_OWNER, settings))
                seconds["by meaning"] = time.perf_counter() - began
            else:
                list(services.jobs.follow(services.jobs.begin(LOCAL_OWNER, [copy], extraction=settings.extraction)))
                seconds["read"] = time.perf_counter() - began
            for event in services.answers.ask(LOCAL_OWNER, question, settings, anyway=True):
                now = time.perf_counter() - began
                match event:
                    case Retrieved():
                        seconds["evidence"] = now
                    case Token():
                        seconds.setdefault("first word", now)
                    case Stored(turn=turn):
                        seconds["answer"] = now
                        seconds.setdefault("first word", now)  # refused, or quoted
                        seconds["by words alone"] = float("words alone" in " ".join(turn.answer.notes))
            while not services.indexes.ready(LOCAL_OWNER, settings):
                time.sleep(0.05)
            seconds.setdefault("by meaning", time.perf_counter() - began)
    return seconds


def show(name: str, found: dict[str, float]) -> None:
    words = "yes" if found["by words alone"] else "no"
    print(f"  {name:<14}" + "".join(f"{found[place]:>12.1f}" for place in PLACES) + f"{words:>16}", flush=True)


def in_child(which: str, pages: int, model: str) -> dict[str, dict[str, float]]:
    """Measure in a process of its own, which has loaded nothing before."""
    command = [sys.executable, __file__, "--one", which, "--pages", str(pages), "--model", model]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(which: str, pages: int, settings: Settings) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        file = pdf(pages, Path(folder))
        if file is None:
            return {}
        names = ("before",) if which == "before" else ("cold", "warm")
        return {name: measured(file, QUESTIONS[pages], settings, before=which == "before") for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the sample only, with SmolLM2")
    parser.add_argument("--model", default="", help="name in the catalogue; the default one unless given")
    parser.add_argument("--pages", default=",".join(map(str, QUESTIONS)), help="some of 8, 109, 160")
    parser.add_argument("--one", choices=("before", "now"), help=argparse.SUPPRESS)  # a child of this script
    options = parser.parse_args()
    model = "smollm2-135m" if options.quick else options.model
    sizes = [8] if options.quick else [int(size) for size in options.pages.split(",")]
    if options.one:
        settings = Settings().changed("llm", model=model) if model else Settings()
        print(json.dumps(one(options.one, sizes[0], settings)))
        return
    for size in sizes:
        found = {**in_child("before", size, model), **in_child("now", size, model)}
        if not found:
            print(f"{size} pages: the PDF is not here")
            continue
        print(f"{size} pages, seconds from the drop to")
        print(f"{'':<16}" + "".join(f"{place:>12}" for place in PLACES) + f"{'by words alone':>16}")
        for name, seconds in found.items():
            show(name, seconds)
        first = found["cold"]["first word"]
        verdict = "under" if first < GOAL else "not under"
        print(f"  first word, before / cold: {found['before']['first word'] / first:.1f}; {verdict} {GOAL:.0f} s")


if __name__ == "__main__":
    main()
