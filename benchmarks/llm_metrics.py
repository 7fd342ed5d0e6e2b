"""The metrics by a language model on real rows: what the judge and the entailment pipeline make of them.

Judge: recorded answers to questions about six PDFs, each with its gold answer and once more with the gold answer of
another question, so that the right verdicts are known. Entailment: worked examples whose claims people labelled, then
recorded answers with the passages they were made of. Every item ends scored, or unscored with a reason; both are
counted. Replies are kept in --keep FOLDER: a second run asks nothing again, an interrupted one goes on.
Last: accuracy of the judge on both kinds against always saying yes (0.5).

    python benchmarks/llm_metrics.py [--quick] [--keep FOLDER] [--minutes M] [--rows N] [--model NAME_OR_PATH]
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pdfqa_core.errors import PdfQAError
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, resolve
from pdfqa_core.metrics.entailment import EntailmentItem, EntailmentScores, LLMTagger, PairScore, entailment_scores
from pdfqa_core.metrics.llm_judge import JudgeItem, judge_answers
from pdfqa_core.metrics.refusal import classify_refusals
from pdfqa_core.metrics.replies import CachedLLM, Decision
from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.models.metrics import remembering
from pdfqa_core.protocols import Tools
from pdfqa_core.protocols.base import Pair
from pdfqa_core.protocols.judging import judged
from pdfqa_core.settings import LLMSettings, models_path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
_MARK = re.compile(r"\s*\[[^\[\]#]+#page=\d+\]")
REFUSALS = (  # made for this benchmark: three that decline, three that answer
    ("I cannot find that in the documents.", True),
    ("The context does not contain information about the price of parking.", True),
    ("Sorry, there is not enough information to answer this question.", True),
    ("The deductible is $500 a year for one person.", False),
    ("Yes, emergency services are covered by both plans.", False),
    ("Employees may use up to $1,000 of PerksPlus a year.", False),
)


def northwind(folder: Path) -> list[EntailmentItem]:
    rows = [json.loads(line) for line in (folder / "recorded_answers_50.jsonl").read_text("utf-8").splitlines()]
    return [
        EntailmentItem(row["question"], (row["context"],), _MARK.sub("", row["truth"]), _MARK.sub("", row["answer"]))
        for row in rows
    ]


def worked(file: Path) -> list[EntailmentItem]:
    rows = json.loads(file.read_text("utf-8"))["results"]
    return [
        EntailmentItem(
            row["query"], tuple(one["text"] for one in row["retrieved_context"]), row["gt_answer"], row["response"]
        )
        for row in rows
    ]


def shown(values: list[float | None]) -> str:
    found = summarise(values)
    if found.mean is None:
        return f"none scored, {found.unscored} unscored"
    interval = f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None and found.high is not None else ""
    return f"{found.mean:.3f}{interval}, n = {found.n}, {found.unscored} unscored"


def judge(items: list[EntailmentItem], llm: CachedLLM) -> tuple[float, float]:
    """Print what the judge says; return the shares of right verdicts on right and on wrong gold answers."""
    right = [JudgeItem(item.question, (item.gold,), item.answer) for item in items]
    wrong = [
        JudgeItem(item.question, (other.gold,), item.answer)
        for item, other in zip(items, items[1:] + items[:1], strict=True)
    ]
    began = time.perf_counter()
    verdicts = judge_answers([*right, *wrong], llm)
    seconds = time.perf_counter() - began
    kinds = (("its own gold answer", verdicts[: len(right)]), ("another question's", verdicts[len(right) :]))
    strict(items, [*right, *wrong], llm)
    print(f"judge: {len(verdicts)} verdicts in {seconds:.1f} s, {_sources(verdicts)}")
    for name, part in kinds:
        probabilities = [one.probability for one in part]
        print(f"  {name:<20} said yes {shown([one.score for one in part])}; P(Yes) {shown(probabilities)}")
    yes = [summarise([one.score for one in part]).mean or 0.0 for _, part in kinds]
    return yes[0], 1 - yes[1]


def strict(items: list[EntailmentItem], asked: list[JudgeItem], llm: CachedLLM) -> None:
    """Print what the stricter judge is worth, its threshold from the other folds of the same items."""
    labels = [True] * len(items) + [False] * (len(asked) - len(items))
    tools = Tools(judge_prompt="strict", calibrate=True)
    try:
        pairs = [
            Pair(str(n), one.prediction, one.references, question=one.question, human=label)
            for n, (one, label) in enumerate(zip(asked, labels, strict=True))
        ]
        judged("strict judge", pairs, llm, tools)
    except PdfQAError as error:
        print(f"strict judge: {error}")
        return
    print(f"{tools.notes[-1]} Threshold {tools.settings['judge’s threshold']}")


def _sources(decisions: tuple[Decision, ...]) -> str:
    return ", ".join(
        f"{n} by {name}" for name, n in collections.Counter(d.source or "nothing" for d in decisions).items()
    )


def refusals(llm: CachedLLM) -> None:
    decisions = classify_refusals([text for text, _ in REFUSALS], llm)
    for kind in (True, False):
        part = [one for one, (_, declines) in zip(decisions, REFUSALS, strict=True) if declines is kind]
        name = "declining" if kind else "answering"
        print(f"refusals: {name} texts said to be one {shown([one.score for one in part])}")


def entailment(items: list[EntailmentItem], llm: CachedLLM, until: float) -> None:
    found: list[EntailmentScores] = []
    for number, item in enumerate(items, start=1):
        if time.perf_counter() > until:
            print(f"  stopped by --minutes after {len(found)} of {len(items)} rows")
            break
        began = time.perf_counter()
        (scores,) = entailment_scores([item], LLMTagger(llm), llm)
        found.append(scores)
        pairs = (scores.context_answer, scores.gold_answer, scores.answer_gold)
        print(
            f"  row {number:>2}: {_counts(pairs)}, pronouns "
            f"{scores.answer_pronouns or 'ok'} / {scores.gold_pronouns or 'ok'}, {time.perf_counter() - began:.1f} s",
            flush=True,
        )
    for name in ("entailment_context_answer", "entailment_gold_answer", "entailment_answer_gold", "entailment_f1"):
        print(f"  {name:<26} {shown([one.metrics()[name] for one in found])}")
    segments = [
        h for one in found for pair in (one.context_answer, one.gold_answer, one.answer_gold) for h in pair.hypotheses
    ]
    tags = collections.Counter(statement.tag.value for h in segments for statement in h.statements)
    reasons = collections.Counter(h.reason.split(":")[0] for h in segments if h.reason)
    print(
        f"  {len(segments)} segments, {sum(h.score is None for h in segments)} unscored; statements by tag {dict(tags)}"
    )
    print(f"  reasons: {dict(reasons) or 'none'}")
    kept = sum(bool(reason) for one in found for reason in (one.answer_pronouns, one.gold_pronouns))
    print(f"  pronouns kept as they were in {kept} of {2 * len(found)} texts")
    print(f"  answers said to be refusals {shown([one.answer_refused.score for one in found])}")


def _counts(pairs: tuple[PairScore, ...]) -> str:
    return ", ".join(
        f"{'none' if pair.score is None else f'{pair.score:.2f}'} of {len(pair.hypotheses)} ({pair.unscored} unscored)"
        for pair in pairs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with northwind/ and claims/")
    parser.add_argument("--quick", action="store_true", help="under 45 s: 4 rows of the judge, no entailment")
    parser.add_argument("--rows", type=int, default=20, help="rows of each part")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no further row after so long")
    parser.add_argument("--keep", type=Path, help="folder where replies are kept")
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--models-dir", type=Path, default=models_path(LLMSettings()))
    chosen = parser.parse_args()
    if not (chosen.data / "northwind" / "recorded_answers_50.jsonl").is_file():
        raise SystemExit(f"There are no recorded answers below {chosen.data}. Give the folder with --data.")
    until = time.perf_counter() + 60 * chosen.minutes
    rows = 4 if chosen.quick else chosen.rows
    recorded = northwind(chosen.data / "northwind")[:rows]
    settings = LLMSettings(model=chosen.model)
    engine = LlamaCpp(resolve(chosen.model, chosen.models_dir), name=chosen.model, context_size=settings.context_size)
    with tempfile.TemporaryDirectory() as temporary:
        llm = remembering(engine, chosen.keep or Path(temporary), settings)
        print(f"{llm.name}, {rows} recorded answers")
        right, wrong = judge(recorded, llm)
        refusals(llm)
        if not chosen.quick:
            print("entailment, worked examples and recorded answers:")
            entailment([*worked(chosen.data / "claims" / "ragchecker_examples.json"), *recorded][:rows], llm, until)
        print(f"requests: {llm.asked} asked, {llm.remembered} remembered")
    print(f"accuracy of the judge {(right + wrong) / 2:.3f} / always yes 0.500: {right + wrong:.2f}")


if __name__ == "__main__":
    main()
