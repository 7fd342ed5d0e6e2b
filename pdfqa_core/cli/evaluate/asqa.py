"""`pdfqa evaluate asqa`: long answers to ambiguous questions, beside the published results."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from pdfqa_core.cli.evaluate.shown import (
    add_disambig,
    add_inputs,
    add_outputs,
    add_profile,
    finish,
    language_model,
    reporter,
)
from pdfqa_core.cli.options import add_common, add_settings
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.metrics.asqa import FindEntities, ReadAnswer, once
from pdfqa_core.models.metrics import entity_finder, span_reader
from pdfqa_core.protocols.asqa import (
    BY_RULE,
    PUBLISHED,
    AmbiguousQuestion,
    ReadingLLM,
    measures_of,
    names_and_numbers,
    read_answers,
    read_questions,
    score_asqa,
)
from pdfqa_core.protocols.runs.profile import deviations, profile_named
from pdfqa_core.services.versions import MODELS, STATISTICS, versions

MODES = ("entities", "qa", "both")
MODES_DIFFER = (
    "rageval's Disambig-F1 compares entities, the other published ones are read by a question answering model."
)


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the protocol."""
    command = protocols.add_parser(
        "asqa",
        help="ASQA's measures, beside published results",
        description="Score long answers to ambiguous questions: STR-EM, ROUGE-L, ROUGE-Lsum, Disambig-F1 and DR.",
        epilog="Gold: ASQA's official file, or its rows as JSON or JSONL. Predictions: {id: text}, or rows with id and "
        'answer; rows that carry both (rageval\'s "answers") need no --gold.',
    )
    add_inputs(command, gold="rows of ASQA")
    command.add_argument("--split", default="dev", help="part of the official file (default: dev)")
    add_disambig(command, MODES)
    command.add_argument("--entity-sets", action="store_true", help="count each entity once, as rageval does")
    add_profile(command)
    add_outputs(command)
    add_common(command)
    add_settings(command, "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score the files and print the means."""
    if not arguments.data:
        return finish(arguments, None)
    gold = read_questions(arguments.gold, split=arguments.split) if arguments.gold else None
    used = versions(STATISTICS if arguments.disambig == "entities" else (*STATISTICS, *MODELS))
    profile = profile_named(arguments.profile)
    find: FindEntities | None = None
    settings = profile.said()
    if arguments.disambig != "qa":
        find = entity_finder(arguments.ner) if arguments.ner else names_and_numbers
        settings["entities"] = f"found by {arguments.ner or 'rule: capitalised names and numbers'}"
        if arguments.entity_sets or profile.entity_sets:
            find, settings["entities"] = once(find), f"{settings['entities']}; each once"
    with ExitStack() as stack:
        read = None
        if arguments.disambig != "entities":
            read, settings["read by"] = _reader(arguments, stack)
        systems = []
        for path in arguments.data:
            questions = gold if gold is not None else read_questions(path, split=arguments.split)
            answers = read_answers(path) if gold is not None else _carried(questions, path)
            phase = reporter(f"{path.stem}: question")
            systems.append(score_asqa(path.stem, questions, answers, read=read, find=find, on_done=phase))
    mode = "entities" if arguments.disambig == "entities" else "qa"
    measures = measures_of(systems, rouge_l=profile.rouge_l)
    notes = (MODES_DIFFER, *deviations(measures, profile))
    if profile.entity_sets and mode == "entities" and not arguments.ner:
        notes = (*notes, BY_RULE)
    evaluation = Evaluation(
        "asqa",
        (arguments.gold or arguments.data[0]).name,
        measures,
        tuple(systems),
        {"Disambig-F1": f"mode {mode}", "ROUGE-Lsum": "Porter stems, a sentence per line", **settings},
        used,
        notes,
        PUBLISHED,
    )
    return finish(arguments, evaluation)


def _reader(arguments: argparse.Namespace, stack: ExitStack) -> tuple[ReadAnswer, str]:
    if arguments.qa_model:
        model = span_reader(arguments.qa_model)
        return model, model.name
    llm = stack.enter_context(language_model(arguments))
    return ReadingLLM(llm), f"the language model {llm.name}"


def _carried(questions: tuple[AmbiguousQuestion, ...], path: Path) -> dict[str, str]:
    for question in questions:
        if question.prediction is None:
            raise UsageError(
                f"{path.name}: {question.id!r} carries no answer.", "Add “answers” to every row, or name --gold."
            )
    return {question.id: question.prediction or "" for question in questions}
