"""`pdfqa synthesize`: questions made of the documents' passages, to measure and to train retrievers with.

A run that was stopped goes on where it ended: passages of which questions were made in the same way are left out.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdfqa_core.cli import terminal
from pdfqa_core.cli.options import (
    add_common,
    add_questions,
    add_settings,
    scope_of,
    settings_of,
    workspace_of,
    write_file,
)
from pdfqa_core.cli.terminal import stopping
from pdfqa_core.errors import UsageError
from pdfqa_core.protocols.json_rows import read_pairs
from pdfqa_core.services import LOCAL_OWNER, Outcome, Services, SyntheticQuestion
from pdfqa_core.services.synthesis import (
    FEWEST_TURNS,
    MOST_EXAMPLES,
    MOST_TURNS,
    USUAL_EXAMPLES,
    Advice,
    Made,
    SynthesisPlan,
    SynthesisResult,
    talks,
)
from pdfqa_core.settings import Settings
from pdfqa_core.synthesis import FEW_SHOT, KINDS, RULES, Example
from pdfqa_core.types import Progress

# ----------------------------------------------------------------------------------------------------
# Looking over synthetic questions on a terminal, one after the other, by a letter each.

KEYS = {"a": Outcome.ACCEPTED, "r": Outcome.REJECTED}
ASKED = "[a]ccept, [r]eject, [e]dit, [s]kip, [b]ack, [q]uit: "
WIDTH = 100  # columns of a passage


def review(services: Services) -> int:
    """Show each question or conversation that nobody has decided about; store every decision before the next is shown.

    The end of the input ends it, too. Back returns to the one before, whatever was decided about it.
    """
    kept = services.training.synthesis.kept
    waiting = talks(kept.list(LOCAL_OWNER, [Outcome.NEW]))
    names = services.documents.filenames(LOCAL_OWNER)
    decided: dict[str, Outcome] = {}
    place = 0
    while place < len(waiting):
        turns = waiting[place]
        first = turns[0]
        print(f"\n{place + 1} of {len(waiting)} · {names.get(first.document_id, '')}, {_pages(first)} · {first.kind}")
        _show(turns)
        letter = _typed(ASKED).strip().casefold()[:1]
        if letter == "q":
            break
        if letter == "b":
            place = max(0, place - 1)
            continue
        if letter == "e":
            edited = _edited(turns)
            if edited is None:
                continue
            one, text, answer = edited
            outcome = Outcome.ACCEPTED if len(turns) == 1 else one.outcome
            now = kept.decide(LOCAL_OWNER, one.id, outcome, text, answer or None)
            waiting[place] = [now if one.id == now.id else one for one in turns]
            if len(turns) > 1:  # the rest of it is still to be looked at
                continue
            decided[first.id] = outcome
        elif letter in KEYS:
            kept.decide(LOCAL_OWNER, first.id, KEYS[letter])
            decided[first.id] = KEYS[letter]
        elif letter != "s":
            continue
        place += 1
    counts = Counter(decided.values())
    left = len(waiting) - len(decided)
    print(f"\n{counts[Outcome.ACCEPTED]} accepted, {counts[Outcome.REJECTED]} rejected, {left} left")
    return 0


def _show(turns: Sequence[SyntheticQuestion]) -> None:
    """Print questions with their answers, each passage before the first one that is of it."""
    passage = ""
    for one in turns:
        if one.passage != passage:
            passage = one.passage
            print(textwrap.indent(textwrap.fill(passage, WIDTH), "  ") + "\n")
        print(f"{one.turn}. {one.text}" if one.turn else one.text)
        print(f"   answer: {one.answer}" if one.answer else "   (no answer)")


def _edited(turns: Sequence[SyntheticQuestion]) -> tuple[SyntheticQuestion, str, str] | None:
    """Return the question that is changed, with its new words and its answer's; "" leaves them. None: nothing is."""
    chosen = turns[0]
    if len(turns) > 1:
        number = _typed("turn: ").strip()
        found = next((one for one in turns if str(one.turn) == number), None)
        if found is None:
            return None
        chosen = found
    text, answer = _typed("question (Enter leaves it): ").strip(), _typed("answer (Enter leaves it): ").strip()
    return (chosen, text, answer) if text or answer else None


def _typed(prompt: str) -> str:
    """Return what is typed; "q" at the end of the input."""
    try:
        return input(prompt)
    except EOFError:
        return "q"


def _pages(one: SyntheticQuestion) -> str:
    pages = sorted({span.page for span in one.spans})
    return f"p. {pages[0]}" if len(pages) == 1 else f"p. {pages[0]}–{pages[-1]}"


# ----------------------------------------------------------------------------------------------------
# `pdfqa synthesize`: questions made of the documents' passages, to measure and to train retrievers with.

FORMS = ("jsonl", "beir")
LIVING = (Outcome.NEW, Outcome.ACCEPTED)


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    plan = SynthesisPlan()
    command = subparsers.add_parser("synthesize", help="make questions of the documents", description=__doc__)
    command.add_argument(
        "--kind",
        choices=KINDS,
        default=plan.kind,
        help=f"zero-shot, few-shot and conversations ask the language model; rules need none (default: {plan.kind})",
    )
    command.add_argument(
        "--passages",
        type=int,
        default=plan.per_document,
        metavar="N",
        help="passages drawn from each document, 0 takes all; with each a conversation begins, if these are made "
        f"(default: {plan.per_document})",
    )
    command.add_argument(
        "--questions",
        type=int,
        default=plan.per_passage,
        metavar="N",
        help=f"questions of each passage (default: {plan.per_passage})",
    )
    command.add_argument(
        "--turns",
        type=int,
        default=plan.turns,
        metavar="N",
        help=f"for conversations: at most so many turns, {FEWEST_TURNS} to {MOST_TURNS} (default: {plan.turns})",
    )
    command.add_argument(
        "--keep-all",
        action="store_true",
        help="drop nothing: no guards, no check that the answer stands in the passage, no search for the passage",
    )
    command.add_argument(
        "--examples",
        type=Path,
        metavar="FILE",
        help='for few-shot: JSON lines {"question", "passage"} (default: the questions accepted first, then examples '
        "that come with the program)",
    )
    command.add_argument(
        "--shots",
        type=int,
        metavar="K",
        help=f"for few-shot: how many examples are shown, at most {MOST_EXAMPLES} (default: {USUAL_EXAMPLES}, or all "
        "of --examples)",
    )
    command.add_argument(
        "--output", type=Path, metavar="PATH", help="write the questions: a file, or a folder with --format beir"
    )
    command.add_argument("--format", choices=FORMS, default=FORMS[0], help="of --output (default: jsonl)")
    command.add_argument(
        "--review",
        action="store_true",
        help="show each new question or conversation with its passage and ask for a letter: accept, reject, edit; "
        "make nothing",
    )
    command.add_argument("--accepted", action="store_true", help="write only what a person accepted, and make nothing")
    add_questions(command)
    add_common(command)
    add_settings(command, "extraction", "chunking", "retrieval", "llm")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the questions, print what became of them, and write those that are left."""
    settings = settings_of(arguments)
    result: SynthesisResult | None = None
    made: list[SyntheticQuestion] = []
    with Services.open(workspace_of(arguments), settings) as services:
        if arguments.review:
            if arguments.json:
                raise UsageError("--review asks questions, --json prints one object.", "Leave one of the two out.")
            return review(services)
        if not arguments.accepted:
            made, result = _made(services, _plan(services, arguments, settings), settings)
        outcomes = (Outcome.ACCEPTED,) if arguments.accepted else LIVING
        written = _write(services, arguments, outcomes) if arguments.output else None
        names = services.documents.filenames(LOCAL_OWNER)
    rows: list[dict[str, Any]] = [
        {
            "id": one.id,
            "question": one.text,
            "answer": one.answer,
            "conversation": one.conversation,
            "turn": one.turn,
            "filename": names.get(one.document_id, ""),
            "pages": sorted({span.page for span in one.spans}),
            "kind": one.kind,
            "model": one.model,
            "outcome": one.outcome.value,
            "reason": one.reason,
        }
        for one in made
    ]
    lines = []
    for row in rows:
        lines.append(f"{row['outcome']:8} {row['filename']}, page {row['pages'][0]}: {row['question']}")
        lines += [f"         answer: {row['answer']}"] if row["answer"] else []
        lines += [f"         ({row['reason']})"] if row["reason"] else []
    lines += [_said(result)] if result is not None else []
    lines += [f"{written} questions in {arguments.output}"] if written is not None else []
    return terminal.told(arguments, {"questions": rows, **_counts(result), "written": written}, *lines)


def _made(
    services: Services, plan: SynthesisPlan, settings: Settings
) -> tuple[list[SyntheticQuestion], SynthesisResult | None]:
    """Make questions, tell how far that is and what is advised; return them and what came of all."""
    made: list[SyntheticQuestion] = []
    result: SynthesisResult | None = None
    with stopping(services):
        for event in services.training.synthesis.make(LOCAL_OWNER, plan, settings):
            if isinstance(event, Progress):
                terminal.show(event)
            elif isinstance(event, Made):
                made += event.questions
            elif isinstance(event, Advice):
                terminal.clear()
                print(f"{event.words} (--kind {RULES})", file=sys.stderr)
            else:
                result = event
    terminal.clear()
    return made, result


def _plan(services: Services, arguments: argparse.Namespace, settings: Settings) -> SynthesisPlan:
    examples = _examples(services, arguments)
    scope = services.documents.collections.searched(LOCAL_OWNER, scope_of(services, arguments)).document_ids
    return SynthesisPlan(
        arguments.kind,
        arguments.passages,
        arguments.questions,
        settings.llm.seed,
        examples,
        tuple(scope),
        arguments.turns,
        arguments.keep_all,
    )


def _examples(services: Services, arguments: argparse.Namespace) -> tuple[Example, ...]:
    """Return what few-shot prompts show. Raises UsageError."""
    file, k = arguments.examples, arguments.shots
    if arguments.kind != FEW_SHOT:
        if file is None and k is None:
            return ()
        raise UsageError("--examples and --shots are for --kind few-shot.", "Leave them out, or choose that kind.")
    if k is not None and not 1 <= k <= MOST_EXAMPLES:
        raise UsageError(f"--shots is {k}.", f"Give a number from 1 to {MOST_EXAMPLES}.")
    if file is None:
        return services.training.synthesis.examples(LOCAL_OWNER, k or USUAL_EXAMPLES)
    pairs = read_pairs(file)
    if k is not None and k > len(pairs):
        raise UsageError(
            f"{file} has {len(pairs)} examples, --shots asks for {k}.", "Add some to it, or give a smaller number."
        )
    return tuple(Example(*pair) for pair in pairs[:k])


def _write(services: Services, arguments: argparse.Namespace, outcomes: tuple[Outcome, ...]) -> int:
    """Write the questions; return how many."""
    if arguments.format == "beir":
        files, count = services.training.synthesis.beir_files(LOCAL_OWNER, outcomes, settings_of(arguments))
        for name, data in files.items():
            write_file(arguments.output / name, data)
        return count
    data, count = services.training.synthesis.questions_file(LOCAL_OWNER, outcomes)
    write_file(arguments.output, data)
    return count


def _counts(result: SynthesisResult | None) -> dict[str, object]:
    if result is None:
        return {}
    return {
        "passages": result.passages,
        "done_before": result.done_before,
        "outcomes": dict(result.outcomes),
        "reasons": dict(result.reasons),
        "notes": list(result.notes),
    }


def _said(result: SynthesisResult) -> str:
    outcomes = Counter(result.outcomes)
    before = f" ({result.done_before} of them had been done before)" if result.done_before else ""
    made, dropped = outcomes[Outcome.NEW.value], outcomes[Outcome.DROPPED.value]
    reasons = sorted(result.reasons.items(), key=lambda one: -one[1])
    lines = [f"{result.passages} passages{before}: {made} questions, {dropped} dropped"]
    lines += [f"  {count} {reason}" for reason, count in reasons] + list(result.notes)
    return "\n".join(lines)
