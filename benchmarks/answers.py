"""How good the answers are: whole questions through the program, for several language models and for quotes.

Data: `northwind` (50 questions on six PDFs; a reference names the pages), `aapl` (questions with one source file on
four 10-Q filings, numbers compared as numbers), `sample` (the 15 of the sample document, right or wrong by rule),
`natural` (32 as a person would ask them on the six PDFs and one filing, written before any was asked and never used to
choose anything, right or wrong by the words that an answer must and must not have), `everyday` (80 in 24 conversations
about four PDFs in `benchmarks/everyday/`, a manual, a trial, a lease and a town's report, made up and asked by somebody
who had not seen the program, 14 of which they do not answer; the same rule), `strangers` and `strangers-odd` (144 in
conversations about six PDFs of other people's making, hard on purpose; the even conversations are for choosing, the odd
ones for one report at the end), `clapnq` (answerable questions over the 600 passages of its dev set) and `tatqa` (one
question on each of some reports, a table with its text, whose answer stands there as it is). The documents of the
others come from the folder of --data, which is not part of the project; those of `sample` and `everyday` are.

Systems: the default model, the smaller one, SmolLM2-135M, and `extractive` (quotes, no model); every other setting is
the default, refusal and checking included. On `northwind` also `recorded`: another system's answers, which come with
the questions. Measures, each with its 95 % bootstrap interval and n: ROUGE-L F and token F1 against the reference,
share of questions with a gold page among the passages read (a refused question reads none), precision and recall of the
cited pages, recall of the reference's numbers; where answers are right or wrong by rule, of the answerable questions
the share of *useful* ones (the right answer, sure or not, or lines before it that hold the answer), of sure and right
answers, of sure and wrong ones, of those where nothing was found, and of these the ones beside the right lines, and of
the others the share of sure answers; the share of wrong ones with a tick on any and on all of their sentences, of
sentences that the passages are said to say, seconds to the first token and of the whole answer. Last the ratio of
ROUGE-L F of the default model and SmolLM2. With --keep FOLDER answers are kept and an interrupted run goes on. With
--gold-pages the search finds passages of the pages that the reference names and no others (`northwind` and `sample`):
what the reader would do if the search were perfect.

    python benchmarks/answers.py [--quick] [--set NAME …] [--system NAME …] [--keep FOLDER] [--threads N] [--show]
                                 [--gold-pages]
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from common import GOLD, ROOT
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

from pdfqa_core.metrics.rouge import rouge_l
from pdfqa_core.metrics.short_answers import token_f1
from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.reading.facts import claimed, stated
from pdfqa_core.reading.outcomes import declines, lines_of
from pdfqa_core.retrieval import Hybrid, retrievers
from pdfqa_core.retrieval.base import ScoredRow
from pdfqa_core.retrieval.bm25 import Ints
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.text import content_terms
from pdfqa_core.types import Answer, Query, Stored, Support

SHARED = ROOT.parent / "shared" / "data"
SYSTEMS = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m", "extractive")
DEFAULT, BASELINE = SYSTEMS[0], SYSTEMS[2]
RECORDED = "recorded"
OWN = ("sample", "everyday")  # sets whose documents are part of the project
CLAPNQ = 120
TATQA = 66  # reports that are drawn; some have no such question
NEGATED = re.compile(r"\b(?:not|no|never|short of|without)\b|n[’']t\b", re.IGNORECASE)
SOURCE = "SOURCE(S):"
MEASURES = (
    "ROUGE-L F", "token F1", "gold page read", "citation P", "citation R", "numbers R", "useful", "sure, right",
    "sure, wrong", "nothing", "beside", "others, sure", "wrong with ✓", "wrong, all ✓", "refused", "supported",
    "first token s", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A question with its reference answer, the pages it cites, and whether the documents answer it."""

    id: str
    question: str
    reference: str
    pages: frozenset[tuple[str, int]] = frozenset()
    answerable: bool = True
    follow_up_of: str = ""
    must: tuple[str, ...] = ()  # expressions that a right answer has
    must_not: tuple[str, ...] = ()
    document: str = ""  # that is searched; empty: all


@dataclass(frozen=True)
class DataSet:
    """Files to read and questions about them."""

    name: str
    files: tuple[Path, ...]
    items: tuple[Item, ...]
    by_rule: bool = False  # answers are right or wrong
    recorded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # another system's answers, by question id


# ------------------------------------------------------------------ data


def northwind(folder: Path) -> DataSet:
    rows = [json.loads(line) for line in (folder / "northwind" / "questions_50.jsonl").read_text("utf-8").splitlines()]
    items = tuple(
        Item(
            f"n{place:02}", row["question"], GOLD.sub("", row["truth"]).strip(),
            frozenset((name, int(page)) for name, page in GOLD.findall(row["truth"])),
        )
        for place, row in enumerate(rows)
    )  # fmt: skip
    file = folder / "northwind" / "recorded_answers_50.jsonl"
    told = [json.loads(line)["answer"] for line in file.read_text("utf-8").splitlines()]
    recorded = {
        item.id: {
            "answer": GOLD.sub("", answer).strip(), "refused": declines(answer), "supports": [],
            "cited": sorted({(name, int(page)) for name, page in GOLD.findall(answer)}),
            "first token s": None, "seconds": None,
        }
        for item, answer in zip(items, told, strict=True)
    }  # fmt: skip
    return DataSet("northwind", tuple(sorted((folder / "northwind").glob("*.pdf"))), items, recorded=recorded)


def aapl(folder: Path) -> DataSet:
    """Return the questions about one filing; the reference ends where it names its source."""
    with (folder / "aapl_10q" / "questions.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["Question Type"].startswith("Single-Doc")]
    items = tuple(
        Item(f"a{place:02}", row["Question"].strip(), row["Answer"].split(SOURCE)[0].strip())
        for place, row in enumerate(rows)
    )
    return DataSet("aapl", tuple(sorted((folder / "aapl_10q").glob("*.pdf"))), items)


def sample(folder: Path) -> DataSet:
    rows = [json.loads(line) for line in (ROOT / "data" / "sample" / "questions.jsonl").read_text("utf-8").splitlines()]
    file = ROOT / "data" / "sample" / "harbour-heat.pdf"
    items = tuple(
        Item(
            row["id"], row["question"], row["answer"] if isinstance(row["answer"], str) else row["answer"][0],
            frozenset((file.name, page) for page in row["pages"]), row["answerable"], row.get("follow_up_of", ""),
        )
        for row in rows
    )  # fmt: skip
    return DataSet("sample", (file,), items, by_rule=True)


def natural(folder: Path) -> DataSet:
    files = (*sorted((folder / "northwind").glob("*.pdf")), folder / "aapl_10q" / "2023_Q2_AAPL.pdf")
    return DataSet("natural", files, _by_rule(Path(__file__).with_name("natural_questions.jsonl")), by_rule=True)


def everyday(folder: Path) -> DataSet:
    own = Path(__file__).with_name("everyday")
    return DataSet("everyday", tuple(sorted(own.glob("*.pdf"))), _by_rule(own / "questions.jsonl"), by_rule=True)


def strangers(folder: Path, odd: bool = False) -> DataSet:
    """Return the questions of every second conversation: those for choosing, or the ones for the report."""
    own = folder / "strangers"
    items = tuple(
        item for item in _by_rule(own / "questions.jsonl") if int(item.id.split("-")[1].removeprefix("c")) % 2 == odd
    )
    return DataSet("strangers-odd" if odd else "strangers", tuple(sorted(own.glob("*.pdf"))), items, by_rule=True)


def topics(folder: Path) -> DataSet:
    """Return first questions of those conversations in one: each is about something else than the one before."""
    whole = strangers(folder)
    items = [item for item in whole.items if item.answerable and not item.follow_up_of]
    random.Random(1).shuffle(items)
    before = ["", *(item.id for item in items)]
    chained = tuple(replace(item, follow_up_of=one) for item, one in zip(items, before, strict=False))
    return replace(whole, name="topics", items=chained)


def _by_rule(file: Path) -> tuple[Item, ...]:
    """Return questions that have the words of a right answer; "c01-2" is asked behind "c01-1"."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    ids = {row["id"] for row in rows}
    items = []
    for row in rows:
        conversation, _, turn = row["id"].rpartition("-")
        before = f"{conversation}-{int(turn) - 1}" if conversation else ""
        items.append(
            Item(
                row["id"], row["question"], row["answer"], answerable=row["answerable"],
                follow_up_of=before if before in ids else "", must=tuple(row["must"]), must_not=tuple(row["must_not"]),
            )
        )  # fmt: skip
    return tuple(items)


def clapnq(folder: Path) -> DataSet:
    """Return a draw of the answerable questions; every passage becomes a PDF page of its own."""
    rows = []
    for name in ("dev_answerable", "dev_unanswerable"):
        rows += [json.loads(line) for line in (folder / "clapnq" / f"{name}.jsonl").read_text("utf-8").splitlines()]
    answerable = [row for row in rows if row["output"][0]["answer"].strip()]
    drawn = sorted(random.Random(0).sample(range(len(answerable)), CLAPNQ))
    items = tuple(Item(f"c{n:03}", answerable[n]["input"], answerable[n]["output"][0]["answer"]) for n in drawn)
    story: list[Any] = []
    for (passage,) in (row["passages"] for row in rows):
        story += [_paragraph(passage["title"], "Heading1"), _paragraph(passage["text"]), PageBreak()]
    return DataSet("clapnq", (_printed(story, Path(tempfile.mkdtemp()) / "clapnq.pdf"),), items)


def tatqa(folder: Path) -> DataSet:
    """Return a draw of questions whose answer stands in a table or text of a report, one of each, asked about that.

    Every report becomes a PDF of its own, its table set without lines.
    """
    reports = json.loads((folder / "tatqa" / "tatqa_dataset_dev.json").read_text("utf-8"))
    draw, parent = random.Random(0), Path(tempfile.mkdtemp())
    files, items = [], []
    for n in sorted(draw.sample(range(len(reports)), TATQA)):
        asked = [one for one in reports[n]["questions"] if one["answer_type"] == "span"]
        if not asked:
            continue
        one, name = draw.choice(asked), f"report-{n:03}.pdf"
        rows = [[_paragraph(label), *cells] for label, *cells in reports[n]["table"]["table"]]
        texts = sorted(reports[n]["paragraphs"], key=lambda text: text["order"])
        story = [*(_paragraph(text["text"]) for text in texts), Table(rows, [180, *[None] * (len(rows[0]) - 1)])]
        files.append(_printed(story, parent / name))
        items.append(Item(f"t{n:03}", one["question"], " ".join(one["answer"]), document=name))
    return DataSet("tatqa", tuple(files), tuple(items), by_rule=True)


def _paragraph(text: str, style: str = "BodyText") -> Paragraph:
    return Paragraph(text.replace("&", "&amp;").replace("<", "&lt;"), getSampleStyleSheet()[style])


def _printed(story: list[Any], path: Path) -> Path:
    SimpleDocTemplate(str(path), title=path.stem, invariant=1).build(story)
    return path


SETS: Mapping[str, Callable[[Path], DataSet]] = {
    "northwind": northwind, "aapl": aapl, "sample": sample, "natural": natural, "everyday": everyday, "clapnq": clapnq,
    "tatqa": tatqa,
    "strangers": strangers, "strangers-odd": lambda folder: strangers(folder, odd=True), "topics": topics,
}  # fmt: skip


# ------------------------------------------------------------------ answering


@retrievers.register("gold_pages", "finds passages of the pages that a reference names")
@dataclass(frozen=True, eq=False)
class GoldPages(Hybrid):
    """The default search among the passages that begin or end on a gold page of the question."""

    name: ClassVar[str] = "gold_pages"
    gold: ClassVar[set[tuple[str, int]]] = set()  # document ids and pages of the question that is being answered

    def _find(self, query: Query, k: int, rows: Ints) -> list[ScoredRow]:
        passages = self.index.passages
        on = [row for row in rows if self.gold & {(span.document_id, span.page) for span in passages[row].spans}]
        return super()._find(query, k, np.array(on, dtype=rows.dtype)) if on else []


def settings_for(system: str, threads: int, *, gold_pages: bool = False) -> Settings:
    """Return the default settings with one model, or for quotes."""
    if gold_pages:
        return settings_for(system, threads).changed("retrieval", retriever=GoldPages.name)
    if system == "extractive":
        return Settings().changed("llm", model=BASELINE).changed("reading", reader="extractive", refusal="retrieval")
    return Settings().changed("llm", model=system, threads=threads).changed("reading", reader="generative")


def answers(
    data: DataSet, system: str, workspace: Path, threads: int, *, gold_pages: bool = False
) -> Iterator[tuple[Item, dict[str, Any]]]:
    """Yield each question with what is kept of its answer; a follow-up is asked behind the question before it."""
    chosen = settings_for(system, threads, gold_pages=gold_pages)
    with Services.open(workspace, chosen) as services:
        for _ in services.documents.ingest(LOCAL_OWNER, list(data.files)):
            pass
        for _ in services.index.build(LOCAL_OWNER, chosen):
            pass
        names = services.documents.filenames(LOCAL_OWNER)
        ids = {name: document_id for document_id, name in names.items()}
        conversations: dict[str, str] = {}
        for item in data.items:
            GoldPages.gold = {(ids[name], page) for name, page in item.pages}
            since = time.perf_counter()
            events = services.answers.ask(
                LOCAL_OWNER,
                item.question,
                chosen,
                conversation_id=conversations.get(item.follow_up_of, ""),
                document_ids=[ids[item.document]] if item.document else (),
            )
            stored = next(event for event in events if isinstance(event, Stored))
            conversations[item.id] = stored.conversation_id
            yield item, as_row(stored.turn.answer, names, time.perf_counter() - since)


def as_row(answer: Answer, names: Mapping[str, str], seconds: float) -> dict[str, Any]:
    """Return what is kept of an answer."""
    lines = lines_of(answer)
    return {
        "answer": answer.text,
        "refused": answer.refused,
        "outcome": str(answer.outcome),
        "quote": " ".join(lines[0].quote.split()) if lines else "",
        "second": " ".join(lines[1].quote.split()) if lines[1:] else "",
        "confidence": answer.confidence,
        "signals": dict(answer.signals),
        "cited": sorted({(names[c.span.document_id], c.span.page) for c in answer.citations}),
        "supports": [str(sentence.support) for sentence in answer.sentences],
        "first token s": answer.seconds.get("first_token"),
        "seconds": seconds,
        "times": dict(answer.seconds),
        "notes": list(answer.notes),
        "read": sorted(
            {
                (names[s.document_id], s.page)
                for hit in answer.hits
                if hit.rank in answer.read
                for s in hit.passage.spans
            }
        ),
    }


# ------------------------------------------------------------------ measures


def right(row: Mapping[str, Any], item: Item) -> bool:
    """Return whether an answer is right, by rule.

    An unanswerable question must have no sure answer, any other has to be answered: with the words that are given; else
    with yes or no as the reference says, or neither of them and a negation for no, and its first number; without a
    number with half of its content terms.
    """
    if row["refused"] or not item.answerable:
        return not item.answerable and row.get("outcome") != "answer"
    if item.must:
        has = [re.search(words, row["answer"], re.IGNORECASE) is not None for words in (*item.must, *item.must_not)]
        return all(has[: len(item.must)]) and not any(has[len(item.must) :])
    said, meant = (verdict(text) for text in (row["answer"], item.reference))
    if meant and (said or ("no" if NEGATED.search(row["answer"]) else "yes")) != meant:
        return False
    wanted = [number.key for number in claimed(item.reference) if number.key not in stated(item.question)]
    if wanted:
        return wanted[0] in stated(row["answer"])
    terms = set(content_terms(item.reference))
    return len(terms & set(content_terms(row["answer"]))) >= len(terms) / 2


def quoted_right(row: Mapping[str, Any], item: Item) -> bool:
    """Return whether lines that are quoted hold the answer; what a wrong answer has may stand beside it there."""
    return any(_holds(row.get(name, ""), item) for name in ("quote", "second"))


def _holds(lines: str, item: Item) -> bool:
    if item.must:
        return all(re.search(words, lines, re.IGNORECASE) for words in item.must)
    return bool(lines) and right({"refused": False, "answer": lines}, item)


def verdict(text: str) -> str:
    """Return "yes" or "no" where a text begins so, else ""."""
    return next((word for word in ("yes", "no") if re.match(rf"{word}\b", text, re.IGNORECASE)), "")


def measured(row: Mapping[str, Any], item: Item, by_rule: bool) -> dict[str, float | None]:
    """Return the value of every measure for one answer; None where it does not apply."""
    cited = {(name, int(page)) for name, page in row["cited"]}
    numbers = {number.key for number in claimed(item.reference)} - stated(item.question)
    supports = row["supports"]
    answered = item.answerable
    good = right(row, item)
    outcome = row.get("outcome", "nothing" if row["refused"] else "answer")
    sure, nothing, ruled = outcome == "answer", outcome == "nothing", by_rule and answered
    lines = quoted_right(row, item)
    read = {(name, int(page)) for name, page in row["read"]} if "read" in row else None
    return {
        "ROUGE-L F": (rouge_l(row["answer"], [item.reference]) or 0.0) if answered else None,
        "token F1": (token_f1(row["answer"], [item.reference]) or 0.0) if answered else None,
        "gold page read": float(bool(read & item.pages)) if item.pages and read is not None else None,
        "citation P": (len(cited & item.pages) / len(cited) if cited else 0.0) if item.pages else None,
        "citation R": len(cited & item.pages) / len(item.pages) if item.pages else None,
        "numbers R": len(numbers & stated(row["answer"])) / len(numbers) if numbers and answered else None,
        "useful": float(not nothing and (good or (not sure and lines))) if ruled else None,
        "sure, right": float(sure and good) if ruled else None,
        "sure, wrong": float(sure and not good) if ruled else None,
        "nothing": float(nothing) if ruled else None,
        "beside": float(nothing and lines) if ruled else None,
        "others, sure": float(sure) if by_rule and not answered else None,
        "wrong with ✓": float(not good and Support.SUPPORTED in supports) if by_rule else None,
        "wrong, all ✓": float(not good and set(supports) == {Support.SUPPORTED}) if by_rule else None,
        "refused": float(row["refused"]) if answered else None,
        "supported": sum(s == Support.SUPPORTED for s in supports) / len(supports) if supports else None,
        "first token s": row["first token s"],
        "seconds": row["seconds"],
    }


def report(data: DataSet, rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """Print the table of a data set."""
    print(f"\n{data.name}: {len(data.items)} questions; mean [95 % interval]; medians of the seconds")
    print(f"{'':<15}" + "".join(f"{name:>26}" for name in rows))
    scores = {
        name: [measured(found[item.id], item, data.by_rule) for item in data.items if item.id in found]
        for name, found in rows.items()
    }
    for measure in MEASURES:
        cells = [cell(measure, [score[measure] for score in found]) for found in scores.values()]
        if any(text != "-" for text in cells):
            print(f"{measure:<15}" + "".join(f"{text:>26}" for text in cells))


def cell(measure: str, values: Sequence[float | None]) -> str:
    known = sorted(value for value in values if value is not None)
    if not known:
        return "-"
    if measure in ("first token s", "seconds"):
        return f"{known[len(known) // 2]:.2f} (most {known[-1]:.1f})"
    found = summarise(values)
    return f"{found.mean:.3f}" + (f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three questions of the sample, SmolLM2 and quotes")
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with northwind, aapl_10q and clapnq")
    parser.add_argument("--set", nargs="+", choices=SETS, default=list(SETS), help="data sets; default: all")
    parser.add_argument("--system", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--keep", type=Path, help="folder for what was answered")
    parser.add_argument("--threads", type=int, default=0, help="of the language model; 0: as the program chooses")
    parser.add_argument("--gold-pages", action="store_true", help="find passages of gold pages only")
    parser.add_argument("--show", action="store_true", help="print every answer")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.set, chosen.system = ["sample"], [BASELINE, "extractive"]
    with tempfile.TemporaryDirectory() as folder:
        keep = chosen.keep or Path(folder)
        means = {name: compared(name, chosen, keep) for name in chosen.set}
    for name, found in means.items():
        base = "extractive" if chosen.quick else BASELINE
        best = BASELINE if chosen.quick else DEFAULT
        if found.get(base) and best in found:
            print(f"{name}: {best} / {base} ROUGE-L F: {found[best] / found[base]:.2f}")


def compared(name: str, chosen: argparse.Namespace, keep: Path) -> dict[str, float]:
    """Answer a data set's questions with every system, print the table, return the means of ROUGE-L F."""
    if name not in OWN and not chosen.data.is_dir():
        print(f"{name} is left out: there is no {chosen.data}", file=sys.stderr)
        return {}
    data = SETS[name](chosen.data)
    if chosen.quick:
        data = replace(data, items=data.items[:3])
    if chosen.gold_pages:
        data = replace(data, items=tuple(item for item in data.items if item.pages and not item.follow_up_of))
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for system in chosen.system:
        kept = keep / f"{name}-{system}{'-gold-pages' * chosen.gold_pages}.jsonl"
        rows[system] = {}
        if kept.exists():
            rows[system] = {row["id"]: row for row in map(json.loads, kept.read_text("utf-8").splitlines())}
        if any(item.follow_up_of for item in data.items) and len(rows[system]) < len(data.items):
            rows[system] = {}  # a follow-up needs the conversation that it belongs to
            kept.unlink(missing_ok=True)
        left = replace(data, items=tuple(item for item in data.items if item.id not in rows[system]))
        if not left.items:
            continue
        keep.mkdir(parents=True, exist_ok=True)
        for item, row in answers(
            left, system, keep / f"workspace-{name}", chosen.threads, gold_pages=chosen.gold_pages
        ):
            rows[system][item.id] = {"id": item.id, **row}
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[system][item.id]) + "\n")
            if chosen.show:
                print(f"{system} {item.id} {item.question}\n  {row['answer']} {row['supports']}\n  = {item.reference}")
    if data.recorded:
        rows[RECORDED] = dict(data.recorded)
    report(data, rows)
    means = {}
    for system, found in rows.items():
        values = [measured(found[item.id], item, False)["ROUGE-L F"] for item in data.items if item.id in found]
        means[system] = summarise(values).mean or 0.0
    return means


if __name__ == "__main__":
    main()
