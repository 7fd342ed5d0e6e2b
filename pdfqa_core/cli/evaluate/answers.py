"""`pdfqa evaluate answers`: text and citations of answers against gold answers, from two files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pdfqa_core.cli.evaluate.shown import add_inputs, add_outputs, finish, language_model, reporter
from pdfqa_core.cli.options import add_common, add_settings
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, ScoredSystem
from pdfqa_core.interfaces import LLM
from pdfqa_core.metrics.agreement import Agreement
from pdfqa_core.metrics.bertscore import Baseline, TokenEmbedder
from pdfqa_core.models.metrics import token_embedder
from pdfqa_core.protocols.answer_files import AnswerRow, Pair, match, read_rows
from pdfqa_core.protocols.answers import (
    BERTSCORE,
    DEFAULT,
    JUDGED,
    REFUSALS,
    SCORES,
    Options,
    Values,
    score_answers,
    score_by_judge,
    score_meaning,
    score_refusals,
)
from pdfqa_core.services.versions import MODELS, STATISTICS, versions


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the protocol."""
    command = protocols.add_parser(
        "answers",
        help="are answers and citations right?",
        description="Score answers and their citations against gold answers.",
        epilog='Files: a JSON list or JSONL of {"answer", "citations"}; matched by "id" where both give it, else by '
        'order; a gold answer may be a list of references. "question", "answerable" and "human" (what a person thought '
        "of the answer) are read where a measure needs them.",
    )
    add_inputs(command, gold="gold answers")
    command.add_argument(
        "--measures", default=",".join(DEFAULT), metavar="M,N", help=f"of: {', '.join(SCORES)} (default: all but "
        "rouge_l_sum)",
    )  # fmt: skip
    text = command.add_argument_group("measures of text")
    text.add_argument("--beta", type=float, default=1.0, help="weight of recall in ROUGE (default: 1)")
    text.add_argument("--stemming", action="store_true", help="Porter stems in ROUGE-L (ROUGE-Lsum always has them)")
    text.add_argument("--brevity-penalty", action="store_true", help="BLEU-1 with the penalty for short answers")
    meaning = command.add_argument_group("measures that load a model")
    meaning.add_argument("--bertscore", action="store_true", help="BERTScore precision, recall and F1")
    meaning.add_argument(
        "--bertscore-encoder", default="", metavar="NAME", help="path or hub name (default: the bundled encoder)"
    )
    meaning.add_argument("--bertscore-idf", action="store_true", help="weigh tokens by their rarity in the references")
    meaning.add_argument(
        "--bertscore-baseline", type=float, nargs=3, metavar=("P", "R", "F1"), help="rescale as (x - b) / (1 - b)"
    )
    meaning.add_argument("--judge", action="store_true", help="LLM accuracy: the language model judges every answer")
    meaning.add_argument(
        "--refusals", choices=("phrases", "llm"),
        help="refusal recall and precision, refusals told by their phrases or by the language model",
    )  # fmt: skip
    add_outputs(command)
    add_common(command)
    add_settings(command, "llm")
    command.set_defaults(run=run)


@dataclass(slots=True)
class _Work:
    """What is needed to score every system, and what there is to say about it afterwards."""

    measures: list[str]
    options: Options
    settings: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    embedder: TokenEmbedder | None = None
    llm: LLM | None = None


def run(arguments: argparse.Namespace) -> int:
    """Score the files and print the means."""
    if not arguments.data:
        return finish(arguments, None)
    if arguments.gold is None:
        raise UsageError("There are no gold answers.", "Name their file with --gold.")
    gold = read_rows(arguments.gold, several=True)
    names = _names(arguments.data)
    with ExitStack() as stack:
        work = _prepared(arguments, stack)
        loaded = work.embedder is not None or work.llm is not None
        used = versions((*STATISTICS, *MODELS) if loaded else STATISTICS)
        systems = tuple(
            _scored(arguments, name, path, gold, work) for name, path in zip(names, arguments.data, strict=True)
        )
    return finish(
        arguments,
        Evaluation(
            "answers", arguments.gold.name, tuple(work.measures), systems, work.settings, used,
            tuple(work.notes),
        ),
    )  # fmt: skip


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the systems' names: those of the files, or where two are the same, with their folders."""
    names = [path.stem for path in paths]
    return names if len(set(names)) == len(names) else [str(path.with_suffix("")) for path in paths]


def _prepared(arguments: argparse.Namespace, stack: ExitStack) -> _Work:
    chosen = [name.strip() for name in arguments.measures.split(",") if name.strip()]
    if not chosen:
        raise UsageError("--measures is empty.", f"Choose among: {', '.join(SCORES)}.")
    if arguments.beta <= 0:
        raise UsageError(f"--beta is {arguments.beta}; it is above 0.", "Leave it out for 1.")
    work = _Work(list(dict.fromkeys(chosen)), Options(arguments.beta, arguments.stemming, arguments.brevity_penalty))
    work.settings["ROUGE-L"] = f"β = {arguments.beta:g}, {'Porter stems' if arguments.stemming else 'no stemming'}"
    work.settings["BLEU-1"] = "with brevity penalty" if arguments.brevity_penalty else "no brevity penalty"
    if arguments.bertscore:
        work.embedder = token_embedder(arguments.bertscore_encoder)
        work.measures += BERTSCORE
    if arguments.judge or arguments.refusals == "llm":
        work.llm = stack.enter_context(language_model(arguments))
        work.settings["language model"] = work.llm.name
    if arguments.judge:
        work.measures.append(JUDGED)
    if arguments.refusals:
        work.measures += REFUSALS
        work.settings["refusals told by"] = "the language model" if arguments.refusals == "llm" else "their phrases"
    return work


def _scored(
    arguments: argparse.Namespace, name: str, path: Path, gold: Sequence[AnswerRow], work: _Work
) -> ScoredSystem:
    pairs = match(read_rows(path, several=False), gold)
    more: list[Sequence[Values]] = []
    if work.embedder is not None:
        baseline = Baseline(*arguments.bertscore_baseline) if arguments.bertscore_baseline else None
        values, work.settings["BERTScore"] = score_meaning(
            pairs, work.embedder, idf=arguments.bertscore_idf, baseline=baseline, on_done=reporter(f"{name}: BERTScore")
        )
        more.append(values)
    if arguments.judge and work.llm is not None:
        more.append(_judged(arguments, name, pairs, work, work.llm))
    if arguments.refusals:
        asked = work.llm if arguments.refusals == "llm" else None
        more.append(score_refusals(pairs, asked, on_done=reporter(f"{name}: refusals")))
    own = [measure for measure in work.measures if measure not in (*BERTSCORE, JUDGED, *REFUSALS)]
    return score_answers(name, pairs, own, options=work.options, more=more)


def _judged(arguments: argparse.Namespace, name: str, pairs: Sequence[Pair], work: _Work, llm: LLM) -> Sequence[Values]:
    values, people = score_by_judge(pairs, llm, on_done=reporter(f"{name}: judge"), seed=arguments.bootstrap_seed)
    if people is not None:
        work.notes.append(f"{name}: {_with_people(people)}")
    return values


def _with_people(found: Agreement) -> str:
    if found.agreement is None:
        return f"the judge and people share no item. {found.note}"
    kappa = "undefined" if found.kappa is None else f"{found.kappa:.3f}"
    bounds = "" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]"
    return (
        f"the judge agrees with people on {found.agreement:.1%} of {found.n} items, Cohen's kappa {kappa}{bounds}. "
        f"{found.note}"
    ).strip()
