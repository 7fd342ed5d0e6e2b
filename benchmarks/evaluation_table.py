"""One table of protocols × systems with 95 % bootstrap intervals over the stored data sets.

Northwind (50 answerable questions, and these with 45 that the PDFs do not answer), HotpotQA 100 (given paragraphs),
CLAPnq 60 + 60 and MT-RAG 60 (searched among the texts of the data set), TREC CAsT 2021 (conversations of about 80 turns
in all, the question as typed beside the default rewriter's). Each is `pdfqa evaluate run` in one workspace, so that an
interrupted table goes on where it stopped (--workspace). Every row has the seconds of its run and, from the second
system on, the paired difference to the first of its data set. Below it stand, for the conversations, what the rewriter
changes with the same reader by the depth of the turn. `extractive` quotes sentences and needs no language
model; `generative` asks the embedded one, or that of --model. Last line: answer F1 on Northwind, the last reader over
the first.

    python benchmarks/evaluation_table.py [--data DIR] [--limit N] [--only A,B] [--readers extractive,generative]
        [--model NAME_OR_PATH] [--workspace DIR] [--out TABLE.md]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.cli import main as pdfqa  # noqa: E402
from pdfqa_core.evaluation_types import Evaluation, ScoredSystem  # noqa: E402
from pdfqa_core.exports.runs import read_results  # noqa: E402
from pdfqa_core.metrics.comparison import Comparison, compare  # noqa: E402
from pdfqa_core.metrics.statistics import Summary, paired_difference, summarise  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
SHOWN = {
    "answers": ("answer_f1", "rouge_l", "citation_f1", "HR@5"),
    "hotpotqa": ("official_answer_em", "official_answer_f1", "sp_f1", "joint_f1"),
    "refusal": ("refusal_recall", "refusal_precision", "answered", "answer_f1"),
    "conversations": ("answer_f1", "rouge_l", "citation_f1", "HR@5"),
}  # those of them that are scored; where none is, the first MOST of all
MOST = 4
BY_DEPTH = ("HR@5", "answer_f1")
LAST_TURN = 99
DEPTHS = ((1, 1), (2, 4), (5, 7), (8, LAST_TURN))
DEPTH_HEAD = ("reader", "measure", "turns", "n", "first rewriter", "last rewriter", "difference")
HEAD = ("data", "protocol", "system", "measure", "mean", "95 % interval", "n", "difference to the first", "seconds")


@dataclass(frozen=True)
class Part:
    """One data set with a protocol. `limit` questions are drawn (0: all); `unanswerable` gives as many more."""

    name: str
    protocol: str
    file: str
    limit: int = 0
    unanswerable: str = ""
    more: tuple[str, ...] = ()


PARTS = (
    Part("northwind", "answers", "northwind/questions_50.jsonl"),
    Part("northwind_95", "refusal", "northwind/questions_50.jsonl", unanswerable="northwind/unanswerable_45.jsonl"),
    Part("hotpotqa", "hotpotqa", "hotpotqa/hotpotqa_100.json", 100),
    Part("clapnq", "refusal", "clapnq/dev_answerable.jsonl", 120, "clapnq/dev_unanswerable.jsonl"),
    Part("mtrag", "answers", "conversations/mtrag_un_reference.jsonl", 60),
    Part("cast2021", "conversations", "conversations/cast2021_manual.json", 80,
         more=("--history", "gold", "--rewriters", "none,concatenation")),
)  # fmt: skip


def called(*words: str | Path) -> None:
    """Run one command of the program; end with what it said where it fails."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = pdfqa([str(word) for word in words])
    if status:
        raise SystemExit(f"pdfqa {' '.join(map(str, words))} failed.\n{said.getvalue()[-2000:]}")


def results(part: Part, given: argparse.Namespace, folder: Path) -> tuple[Evaluation, float]:
    """Return the scores of a data set and the seconds that its run took."""
    saved = folder / f"{part.name}.json"
    limit = min(filter(None, (part.limit, given.limit)), default=0)
    words = ["evaluate", "run", part.protocol, "--data", given.data / part.file, "--readers", given.readers,
             "--workspace", folder, "--save", saved, "--no-bertscore", *part.more]  # fmt: skip
    words += ["--unanswerable", given.data / part.unanswerable] if part.unanswerable else []
    words += ["--limit", str(limit)] if limit else []
    words += ["--model", given.model] if given.model else []
    begun = time.perf_counter()
    called(*words)
    return read_results(saved.read_bytes(), saved.name), time.perf_counter() - begun


def shown(part: Part, evaluation: Evaluation) -> tuple[str, ...]:
    """Return the measures that the table shows of a data set."""
    wanted = tuple(name for name in SHOWN[part.protocol] if name in evaluation.measures)
    return wanted or evaluation.measures[:MOST]


def rows(part: Part, evaluation: Evaluation, compared: Comparison, seconds: float) -> Iterator[tuple[str, ...]]:
    """Return a line per system and measure."""
    for system in evaluation.systems:
        for measure in shown(part, evaluation):
            cell = compared.cells[system.name][measure]
            one, other = cell.summary, cell.difference
            yield (
                part.name, part.protocol, system.name, measure, *value(one), str(one.n),
                " ".join(value(other, "+")) if other is not None else "", f"{seconds:.0f}",
            )  # fmt: skip


def value(of: Summary, sign: str = "") -> tuple[str, str]:
    """Return a mean and its interval; "–" where too few questions were scored for it."""
    mean = "–" if of.mean is None else f"{of.mean:{sign}.3f}"
    interval = "–" if of.low is None or of.high is None else f"[{of.low:{sign}.3f}, {of.high:{sign}.3f}]"
    return mean, interval


def by_depth(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    """Yield a line per reader, measure and depth: both rewriters' means and the paired difference, last less first.

    The items of a conversation end with "_" and the number of their turn.
    """
    readers: dict[str, list[ScoredSystem]] = {}
    for system in evaluation.systems:
        readers.setdefault(system.name.partition("reader ")[2], []).append(system)
    for reader, (first, *_, last) in readers.items():
        for measure in BY_DEPTH:
            for low, high in DEPTHS:
                deep = [low <= int(item.id.rpartition("_")[2]) <= high for item in first.items]
                old, new = (
                    [item.metrics.get(measure) for item, one in zip(system.items, deep, strict=True) if one]
                    for system in (first, last)
                )
                shown = f"{low}" if low == high else f"{low} to {high}" if high < LAST_TURN else f"from {low} on"
                means = (value(summarise(values))[0] for values in (old, new))
                yield reader, measure, shown, str(sum(deep)), *means, " ".join(value(paired_difference(new, old), "+"))


def table(lines: Sequence[Sequence[str]], head: Sequence[str] = HEAD) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def main() -> None:
    """Run what was asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="three questions of Northwind, by quotes and SmolLM2")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument("--limit", type=int, default=0, help="at most so many questions of each")
    parser.add_argument("--only", default="", metavar="A,B", help=f"of {','.join(part.name for part in PARTS)}")
    parser.add_argument("--readers", default="extractive,generative", metavar="A,B")
    parser.add_argument("--model", default="", help="(default: the embedded model)")
    parser.add_argument("--workspace", type=Path, help="keep runs there and go on with them")
    parser.add_argument("--out", type=Path, help="write the table there as well")
    given = parser.parse_args()
    if given.quick:
        given.limit, given.only, given.model = 3, "northwind", "smollm2-135m"
    chosen = [part for part in PARTS if not given.only or part.name in given.only.split(",")]
    missing = [part.file for part in chosen if not (given.data / part.file).is_file()]
    if missing or not chosen:
        raise SystemExit(f"There is no {', '.join(missing) or given.only} in {given.data}. See --data and --only.")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.workspace or Path(scratch)
        if any(part.file.startswith("northwind") for part in chosen):
            called("ingest", *sorted((given.data / "northwind").glob("*.pdf")), "--workspace", folder)
        lines: list[tuple[str, ...]] = []
        f1: list[float] = []
        depths: list[tuple[str, ...]] = []
        for part in chosen:
            evaluation, seconds = results(part, given, folder)
            compared = compare(evaluation)
            lines += rows(part, evaluation, compared, seconds)
            if part.protocol == "conversations":
                depths += by_depth(evaluation)
            if part.name == "northwind":
                f1 = [compared.cells[one.name]["answer_f1"].summary.mean or 0.0 for one in evaluation.systems]
    shown = "\n\n".join([table(lines), *([table(depths, DEPTH_HEAD)] if depths else [])])
    print(shown)
    if given.out:
        given.out.write_text(shown + "\n", encoding="utf-8")
    if len(f1) > 1 and f1[0]:
        names = given.readers.split(",")
        print(f"answer F1 on Northwind, {names[-1]} over {names[0]}: {f1[-1] / f1[0]:.2f}")


if __name__ == "__main__":
    main()
