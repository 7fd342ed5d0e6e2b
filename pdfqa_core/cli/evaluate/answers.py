"""`pdfqa evaluate answers`: answers against gold answers, from files; those of a run by its protocol's measures."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pdfqa_core.cli import terminal
from pdfqa_core.cli.evaluate.shown import (
    add_inputs,
    add_outputs,
    add_profile,
    add_scoring,
    finish,
    groups_of,
    language_model,
    reporter,
    scoring_options,
)
from pdfqa_core.cli.options import add_common, add_settings
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation, ScoredItem, ScoredSystem
from pdfqa_core.exports.runs import groups_text, with_answers
from pdfqa_core.interfaces import LLM
from pdfqa_core.metrics.bertscore import Baseline
from pdfqa_core.models.metrics import token_embedder
from pdfqa_core.protocols.answer_files import Pair, match, read_rows
from pdfqa_core.protocols.answers import (
    BERTSCORE,
    DEFAULT,
    JUDGED,
    REFUSALS,
    SCORES,
    Options,
    Values,
    score_answers,
    score_meaning,
    score_refusals,
)
from pdfqa_core.protocols.runs import Tools, run_protocols
from pdfqa_core.protocols.runs.answers import MISSING, Written, read_written, said_by
from pdfqa_core.protocols.runs.judging import check_labels, judged
from pdfqa_core.protocols.runs.profile import deviations, profile_named
from pdfqa_core.services.run_asking import run_of_files, scored, tools_of
from pdfqa_core.services.versions import MODELS, STATISTICS, versions
from pdfqa_core.types import Progress

# ----------------------------------------------------------------------------------------------------
# What `evaluate answers` does with files that `evaluate run --out` wrote: all scores of their protocol once more.


def score_again(arguments: argparse.Namespace, protocol: str, profile: str, data: Mapping[str, Path]) -> int:
    """Score the files of each system by a protocol, and print the means, also by turn and type."""
    written = read_written(protocol, arguments.gold, data)
    evaluation = _evaluation_again(arguments, protocol, profile, written, tuple(data))
    groups = groups_of(evaluation, arguments.baseline)

    def more(results: dict[str, Any]) -> dict[str, Any]:
        found = with_answers(results, "", written.predictions, groups)
        del found["run"]
        return found

    said = [groups_text(by, parts, evaluation.measures[0]) for by, parts in groups.items()]
    return finish(arguments, evaluation, said=said, more=more)


def _evaluation_again(
    arguments: argparse.Namespace, protocol: str, profile: str, written: Written, systems: tuple[str, ...]
) -> Evaluation:
    run = run_of_files(
        protocol,
        arguments.gold,
        systems,
        profile=profile,
        seed=getattr(arguments, "llm.seed") or 0,
        options=scoring_options(arguments),
    )
    chosen = run_protocols.get(protocol)
    chosen.check(written.file, run.plan.options)
    with ExitStack() as stack:

        @cache
        def llm() -> LLM:
            return stack.enter_context(language_model(arguments))

        tools = tools_of(run.plan, llm, token_embedder, chosen.needs, threading.Event())
        return _showing(scored(run, chosen, written.file, written.predictions, tools))


def _showing(steps: Generator[Progress, None, Evaluation]) -> Evaluation:
    while True:
        try:
            terminal.show(next(steps))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


# ----------------------------------------------------------------------------------------------------
# `pdfqa evaluate answers`: answers against gold answers, from files; those of a run by its protocol's measures.

# Options of two files of answers, which no protocol of a run knows.
PLAIN = (
    "measures", "beta", "stemming", "brevity_penalty", "refusals", "bertscore_encoder", "bertscore_idf",
    "bertscore_baseline",
)  # fmt: skip


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the protocol."""
    command = protocols.add_parser(
        "answers",
        help="are answers and citations right?",
        description="Score answers and their citations against gold answers; files that “evaluate run --out” wrote by "
        "all measures of their protocol, with the same numbers.",
        epilog='Files: a JSON list or JSONL of {"answer", "citations"}; matched by "id" where both give it, else by '
        'order; a gold answer may be a list of references. "question", "answerable" and "human" (what a person thought '
        "of the answer) are read where a measure needs them.",
    )
    add_inputs(command, gold="gold answers")
    command.add_argument(
        "--protocol",
        choices=run_protocols.names(),
        help="score as “evaluate run” does (default: as the gold file says)",
    )
    add_profile(command)
    add_scoring(command)
    _add_plain(command)
    add_outputs(command)
    add_common(command)
    add_settings(command, "llm")
    command.set_defaults(run=run)


def _add_plain(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("without a protocol", "Any of these scores the answers alone.")
    group.add_argument("--measures", metavar="M,N", help=f"of: {', '.join(SCORES)} (default: all but rouge_l_sum)")
    group.add_argument("--beta", type=float, help="weight of recall in ROUGE (default: 1)")
    group.add_argument("--stemming", action="store_true", help="Porter stems in ROUGE-L (ROUGE-Lsum always has them)")
    group.add_argument("--brevity-penalty", action="store_true", help="BLEU-1 with the penalty for short answers")
    group.add_argument(
        "--refusals",
        choices=("phrases", "llm"),
        help="refusal recall and precision, refusals told by their phrases or by the language model",
    )
    group.add_argument("--bertscore-encoder", metavar="NAME", help="path or hub name (default: the bundled encoder)")
    group.add_argument("--bertscore-idf", action="store_true", help="weigh tokens by their rarity in the references")
    group.add_argument(
        "--bertscore-baseline", type=float, nargs=3, metavar=("P", "R", "F1"), help="rescale as (x - b) / (1 - b)"
    )


@dataclass(slots=True)
class _Work:
    """What is needed to score every system; `tools` collects what there is to say about it afterwards."""

    measures: list[str]
    options: Options
    tools: Tools
    refusals: str = ""
    idf: bool = False
    baseline: Baseline | None = None
    added: list[str] = field(default_factory=list)


def run(arguments: argparse.Namespace) -> int:
    """Score the files and print the means."""
    if not arguments.data:
        return finish(arguments, None)
    if arguments.gold is None:
        raise UsageError("There are no gold answers.", "Name their file with --gold.")
    data = dict(zip(_names(arguments.data), arguments.data, strict=True))
    plain = [name for name in PLAIN if getattr(arguments, name) not in (None, False)]
    protocol, profile = said_by(arguments.gold)
    if arguments.protocol and plain:
        option = plain[0].replace("_", "-")
        raise UsageError(f"--{option} is for answers without a protocol.", f"Leave out --{option} or --protocol.")
    if (protocol := arguments.protocol or protocol) and not plain:
        return score_again(arguments, protocol, arguments.profile or profile, data)
    return finish(arguments, _evaluation(arguments, data))


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the systems' names: those of the files, or where two are the same, with their folders."""
    names = [path.stem for path in paths]
    return names if len(set(names)) == len(names) else [str(path.with_suffix("")) for path in paths]


def _evaluation(arguments: argparse.Namespace, data: Mapping[str, Path]) -> Evaluation:
    """Return the scores of answers alone."""
    gold = read_rows(arguments.gold, several=True)
    pairs = {name: match(read_rows(path, several=False), gold) for name, path in data.items()}
    if arguments.judge and arguments.calibrate:
        for name, own in pairs.items():
            check_labels(name, [pair.human for pair in own if not pair.error])
    with ExitStack() as stack:
        work = _prepared(arguments, stack)
        loaded = work.tools.embedder is not None or work.tools.llm is not None
        used = versions((*STATISTICS, *MODELS) if loaded else STATISTICS)
        systems = tuple(_scored(name, own, work) for name, own in pairs.items())
    measures = (*work.measures, *work.added)
    scored = {
        name for one in systems for item in one.items for name, value in item.metrics.items() if value is not None
    }
    notes = (*work.tools.notes, *deviations(tuple(one for one in measures if one in scored), work.tools.profile))
    return Evaluation(
        "answers", arguments.gold.name, measures, systems, work.tools.settings, used, tuple(dict.fromkeys(notes))
    )


def _prepared(arguments: argparse.Namespace, stack: ExitStack) -> _Work:
    given = ",".join(DEFAULT) if arguments.measures is None else arguments.measures
    chosen = [name.strip() for name in given.split(",") if name.strip()]
    if not chosen:
        raise UsageError("--measures is empty.", f"Choose among: {', '.join(SCORES)}.")
    beta = 1.0 if arguments.beta is None else arguments.beta
    if beta <= 0:
        raise UsageError(f"--beta is {beta}; it is above 0.", "Leave it out for 1.")
    profile = profile_named(arguments.profile)
    tools = Tools(
        profile,
        judge=arguments.judge,
        judge_prompt=arguments.judge_prompt,
        calibrate=arguments.calibrate,
        seed=arguments.bootstrap_seed,
    )
    work = _Work(
        list(dict.fromkeys(chosen)),
        Options(beta, arguments.stemming, arguments.brevity_penalty),
        tools,
        arguments.refusals or "",
        arguments.bertscore_idf,
        Baseline(*arguments.bertscore_baseline) if arguments.bertscore_baseline else None,
    )
    tools.settings |= profile.said()
    tools.settings["ROUGE-L"] = f"β = {beta:g}, {'Porter stems' if arguments.stemming else 'no stemming'}"
    tools.settings["BLEU-1"] = "with brevity penalty" if arguments.brevity_penalty else "no brevity penalty"
    if arguments.bertscore:
        tools.embedder = token_embedder(arguments.bertscore_encoder or "")
        work.added += BERTSCORE
    if arguments.judge or arguments.refusals == "llm":
        tools.llm = stack.enter_context(language_model(arguments))
        tools.settings["language model"] = tools.llm.name
    if arguments.judge:
        work.added.append(JUDGED)
    if arguments.refusals:
        work.added += REFUSALS
        told_by = "the language model" if arguments.refusals == "llm" else "their phrases"
        tools.settings["refusals told by"] = told_by
    return work


def _scored(name: str, pairs: Sequence[Pair], work: _Work) -> ScoredSystem:
    """Return the values of every pair; those of which nothing came are unscored."""
    tools = work.tools
    if tools.profile.empty_citations and all(pair.cited is None for pair in pairs):
        pairs = [replace(pair, cited=(), gold_citations=()) for pair in pairs]
    there = [pair for pair in pairs if not pair.error]
    found = score_answers(name, there, work.measures, options=work.options, more=_by_models(name, there, work))
    by_id = {item.id: item for item in found.items}
    if tools.profile.zero_missing and all(item.metrics.get(MISSING, 0.0) is None for item in found.items):
        by_id = {key: replace(item, metrics={**item.metrics, MISSING: 0.0}) for key, item in by_id.items()}
    blank: Values = dict.fromkeys((*work.measures, *work.added))
    return ScoredSystem(
        name,
        tuple(
            by_id.get(pair.id) or ScoredItem(pair.id, blank, {"question": pair.question, "error": pair.error})
            for pair in pairs
        ),
    )


def _by_models(name: str, pairs: Sequence[Pair], work: _Work) -> list[Sequence[Values]]:
    tools, found = work.tools, list[Sequence[Values]]()
    if tools.embedder is not None:
        several = sum(len(pair.references) for pair in pairs) > 1
        values, tools.settings["BERTScore"] = score_meaning(
            pairs,
            tools.embedder,
            idf=work.idf or (tools.profile.idf and several),
            baseline=work.baseline,
            inner_product=tools.profile.inner_product,
            on_done=reporter(f"{name}: BERTScore"),
        )
        found.append(values)
    if tools.judge and tools.llm is not None:
        tools.on_done = reporter(f"{name}: judge")
        found.append(judged(name, pairs, tools.llm, tools))
    if work.refusals:
        asked = tools.llm if work.refusals == "llm" else None
        found.append(score_refusals(pairs, asked, on_done=reporter(f"{name}: refusals")))
    return found
