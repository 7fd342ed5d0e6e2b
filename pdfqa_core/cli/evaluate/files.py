"""`pdfqa evaluate answers|asqa|hotpotqa|entailment`: answers that stand in files, scored as those of a run are."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from pdfqa_core.cli import terminal
from pdfqa_core.cli.evaluate.shown import (
    add_disambig,
    add_inputs,
    add_outputs,
    add_profile,
    add_scoring,
    finish,
    groups_of,
    language_model,
    means_of,
    scoring_options,
)
from pdfqa_core.cli.options import add_common, add_settings
from pdfqa_core.errors import UsageError
from pdfqa_core.exports.runs import with_answers
from pdfqa_core.interfaces import LLM
from pdfqa_core.models.metrics import token_embedder
from pdfqa_core.protocols import run_protocols
from pdfqa_core.protocols.answers import DEFAULT, SCORES
from pdfqa_core.protocols.base import said_by
from pdfqa_core.protocols.gold.hub import fetched, is_hub_name
from pdfqa_core.protocols.hotpotqa import Missing
from pdfqa_core.services.run_asking import NO, YES, AnswerFiles, score_files
from pdfqa_core.streaming import result_of
from pdfqa_core.whole_files import temporary_folder

# Options of two files of answers, which no protocol of a run knows.
PLAIN = (
    "measures", "stemming", "brevity_penalty", "refusals", "bertscore_idf", "bertscore_baseline",
)  # fmt: skip


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the four commands."""
    _add_answers(protocols)
    _add_asqa(protocols)
    _add_hotpotqa(protocols)
    _add_entailment(protocols)


def _add_answers(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    group = command.add_argument_group("without a protocol", "Any of these scores the answers alone.")
    group.add_argument("--measures", metavar="M,N", help=f"of: {', '.join(SCORES)} (default: all but rouge_l_sum)")
    group.add_argument("--stemming", action="store_true", help="Porter stems in ROUGE-L (ROUGE-Lsum always has them)")
    group.add_argument("--brevity-penalty", action="store_true", help="BLEU-1 with the penalty for short answers")
    group.add_argument(
        "--refusals",
        choices=("phrases", "llm"),
        help="refusal recall and precision, refusals told by their phrases or by the language model",
    )
    group.add_argument("--bertscore-idf", action="store_true", help="weigh tokens by their rarity in the references")
    group.add_argument(
        "--bertscore-baseline", type=float, nargs=3, metavar=("P", "R", "F1"), help="rescale as (x - b) / (1 - b)"
    )
    _add_rest(command, _of_answers)


def _add_asqa(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = protocols.add_parser(
        "asqa",
        help="ASQA's measures, beside published results",
        description="Score long answers to ambiguous questions: STR-EM, ROUGE-L, ROUGE-Lsum, Disambig-F1 and DR.",
        epilog="Gold: ASQA's official file, or its rows as JSON or JSONL. Predictions: {id: text}, or rows with id and "
        'answer; rows that carry both (rageval\'s "answers") need no --gold.',
    )
    add_inputs(command, gold="rows of ASQA")
    command.add_argument(
        "--split",
        default="dev",
        help="part of the official file, or of one of the hub: --data golaxy/rag-bench (default: dev)",
    )
    add_disambig(command, ("entities", "qa", "both"))
    command.add_argument("--entity-sets", action="store_true", help="count each entity once, as rageval does")
    add_profile(command)
    _add_rest(command, _of_asqa)


def _add_hotpotqa(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = protocols.add_parser(
        "hotpotqa",
        help="HotpotQA's official measures",
        description="Score answers, supporting facts and both together by HotpotQA's official rules.",
        epilog='Predictions: {"answer": {id: text}, "sp": {id: [[title, sentence number], …]}}; without "sp" only '
        "answers are scored. Gold: the data set's rows.",
    )
    add_inputs(command, gold="rows of HotpotQA")
    command.add_argument(
        "--missing",
        choices=[one.value for one in Missing],
        default=Missing.ERROR.value,
        help="questions without a prediction: an error, 0 as in the official evaluation, or unscored (default: error)",
    )
    _add_rest(command, lambda given: _files(given, "hotpotqa", {"missing": given.missing}), llm=False)


def _add_entailment(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = protocols.add_parser(
        "entailment",
        help="what answers claim, against context and gold",
        description="Split answers and gold answers into statements and decide which of them the context, the gold "
        "answer and the answer entail; tell refusals.",
        epilog='Files: a list or JSONL of {"id", "question", "context", "ground_truth", "answer"}, or RAGChecker\'s '
        '{"results": […]}. Replies of the language model are kept, so that a repeated run asks nothing again.',
    )
    add_inputs(command, data="rows")
    command.add_argument(
        "--nli",
        default="",
        metavar="NAME",
        help="NLI cross-encoder that tags, by path or hub name (default: the language model)",
    )
    command.add_argument(
        "--pronouns-and-refusals",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="ask the language model to replace pronouns and to tell refusals (default: yes, with --nli no)",
    )
    command.add_argument(
        "--unusable-as-zero",
        action="store_true",
        help="count segments without a usable reply as 0, as the original pipeline does",
    )
    command.add_argument(
        "--plain-sentences",
        action="store_true",
        help="split sentences as NLTK does, without the abbreviations added here and not at blank lines, as the "
        "original pipeline does",
    )
    add_profile(command)
    _add_rest(command, _of_entailment)


def _add_rest(
    command: argparse.ArgumentParser, files: Callable[[argparse.Namespace], AnswerFiles], *, llm: bool = True
) -> None:
    """Add what all four have; `files` says what a call wants to be scored, without the files themselves."""
    add_outputs(command)
    add_common(command)
    if llm:
        add_settings(command, "llm")
    command.set_defaults(run=partial(run, files=files))


# ------------------------------------------------------------------ what is asked for, as the options of a run


def _of_answers(given: argparse.Namespace) -> AnswerFiles:
    """Return answers alone where an option of these is set, or no protocol is known; else the run's that wrote them."""
    plain = [name for name in PLAIN if getattr(given, name) not in (None, False)]
    if given.protocol and plain:
        option = plain[0].replace("_", "-")
        raise UsageError(f"--{option} is for answers without a protocol.", f"Leave out --{option} or --protocol.")
    protocol, profile = said_by(given.gold) if given.gold else ("", "")
    if (protocol := given.protocol or protocol) and not plain:
        seed = getattr(given, "llm.seed") or 0
        return _files(
            given, protocol, scoring_options(given), published=False, profile=given.profile or profile, seed=seed
        )
    measures = ",".join(DEFAULT) if given.measures is None else given.measures
    chosen = dict.fromkeys(name.strip() for name in measures.split(",") if name.strip())
    if not chosen:
        raise UsageError("--measures is empty.", f"Choose among: {', '.join(SCORES)}.")
    options = _said(stemming=given.stemming, brevity_penalty=given.brevity_penalty, idf=given.bertscore_idf)
    options |= {"measures": " ".join(chosen), "refusals": given.refusals or ""}
    options["bertscore_baseline"] = " ".join(map(str, given.bertscore_baseline or ()))
    return _files(given, "answers", {**scoring_options(given), **options}, seed=given.bootstrap_seed)


def _of_asqa(given: argparse.Namespace) -> AnswerFiles:
    options = {"split": given.split, "ner": given.ner, "qa_model": given.qa_model}
    options["disambig"] = "entities" if given.disambig == "entities" else "qa"
    options["entities"] = NO if given.disambig == "qa" else YES
    return _files(given, "asqa", options | _said(entity_sets=given.entity_sets))


def _of_entailment(given: argparse.Namespace) -> AnswerFiles:
    told = not given.nli if given.pronouns_and_refusals is None else given.pronouns_and_refusals
    options = _said(unusable_as_zero=given.unusable_as_zero, plain_sentences=given.plain_sentences)
    return _files(given, "entailment", options | {"nli": given.nli, "pronouns": YES if told else NO})


def _said(**flags: bool) -> dict[str, str]:
    return {name: YES for name, value in flags.items() if value}


def _files(
    given: argparse.Namespace,
    protocol: str,
    options: Mapping[str, str],
    *,
    published: bool = True,
    profile: str = "",
    seed: int = 0,
) -> AnswerFiles:
    """Return the files of a call; systems are named as their files, or where two are the same, with their folders."""
    names = [path.stem for path in given.data]
    names = names if len(set(names)) == len(names) else [str(path.with_suffix("")) for path in given.data]
    data, gold = dict(zip(names, given.data, strict=True)), getattr(given, "gold", None)
    return AnswerFiles(protocol, data, gold, published, profile or getattr(given, "profile", ""), seed, options)


# ------------------------------------------------------------------ scoring


def _here(path: Path, given: argparse.Namespace, folder: Path) -> Path:
    """Return a file of answers; of a data set of the hub, the file of the split. Raises UsageError."""
    if not hasattr(given, "split") or not is_hub_name(path):
        return path
    folder.mkdir()
    return fetched(path.as_posix(), given.split, folder)


def run(arguments: argparse.Namespace, files: Callable[[argparse.Namespace], AnswerFiles]) -> int:
    """Score the files and print the means; of a run's files also by turn and type."""
    if not arguments.data:
        return finish(arguments, None)
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        arguments.data = [_here(path, arguments, folder / str(n)) for n, path in enumerate(arguments.data)]
        wanted = files(arguments)

        @cache
        def llm() -> LLM:
            return stack.enter_context(language_model(arguments))

        evaluation, written = result_of(score_files(wanted, llm, token_embedder), terminal.show)
    if wanted.published:
        return finish(arguments, evaluation)
    groups = groups_of(evaluation, arguments.baseline)

    def more(results: dict[str, Any]) -> dict[str, Any]:
        found = with_answers(results, "", written.predictions, groups)
        del found["run"]
        return found

    return finish(arguments, evaluation, said=list(means_of(evaluation, groups).values()), more=more)
