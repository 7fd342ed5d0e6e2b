"""`pdfqa evaluate entailment`: which statements of answers the context and the gold answer entail, and the reverse."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from pdfqa_core.cli.evaluate.shown import add_inputs, add_outputs, add_profile, finish, language_model, reporter
from pdfqa_core.cli.options import add_common, add_settings
from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.metrics.entailment import LLMTagger, Tagger
from pdfqa_core.models.metrics import nli_tagger
from pdfqa_core.protocols.entailment import CLAIMS, MEASURES, REFUSALS, check_same, read_rows, score_entailment
from pdfqa_core.protocols.runs.profile import deviations, profile_named
from pdfqa_core.services.versions import MODELS, STATISTICS, versions
from pdfqa_core.text import plain_sentences, sentences


def add(protocols: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the protocol."""
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
    add_outputs(command)
    add_common(command)
    add_settings(command, "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score the files and print the means."""
    if not arguments.data:
        return finish(arguments, None)
    files = [(path, read_rows(path)) for path in arguments.data]
    for path, rows in files[1:]:
        check_same(files[0][1], rows, path.name)
    used = versions((*STATISTICS, *MODELS))
    profile = profile_named(arguments.profile)
    as_zero = arguments.unusable_as_zero or profile.unusable_as_zero
    plain = arguments.plain_sentences or profile.plain_sentences
    extra = not arguments.nli if arguments.pronouns_and_refusals is None else arguments.pronouns_and_refusals
    with ExitStack() as stack:
        llm = stack.enter_context(language_model(arguments)) if extra or not arguments.nli else None
        tagger: Tagger = nli_tagger(arguments.nli) if arguments.nli or llm is None else LLMTagger(llm)
        systems, notes = [], list[str]()
        for path, rows in files:
            system, said = score_entailment(
                path.stem,
                rows,
                tagger,
                llm if extra else None,
                unusable_as_zero=as_zero,
                split=plain_sentences if plain else sentences,
                on_done=reporter(f"{path.stem}: segment"),
            )
            systems.append(system)
            notes += said
        settings = {
            "tagged by": tagger.name,
            "pronouns and refusals": "unchanged, not told" if llm is None or not extra else llm.name,
            "segments without a usable reply": "count as 0" if as_zero else "left out",
            "sentences": "NLTK's" if plain else "Punkt with more abbreviations, and at blank lines",
            **profile.said(),
        }
    judged = any(row.precise or row.recalled for row in files[0][1])
    if not (as_zero and plain):
        notes += deviations(MEASURES, profile)
    measures = (*MEASURES, *(REFUSALS if extra else ()), *(CLAIMS if judged else ()))
    return finish(
        arguments,
        Evaluation("entailment", arguments.data[0].name, measures, tuple(systems), settings, used, tuple(notes)),
    )
