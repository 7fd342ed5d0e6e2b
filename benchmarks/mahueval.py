"""Play both evaluators through the whole MaHuEval protocol and print the tables that a thesis prints.

Forty conversations of 8 to 10 turns in twenty pairs that begin with the same question, held and rated through the same
services as on the page, with recorded answers: what people say of them is made up by a seeded judge who agrees with the
other one on nine of ten judgements. So the numbers say nothing of a system; the path to them is what is shown. Without
--data, the sample's own questions and answers are asked.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from pdfqa_core.cli.study import overlap_lines, results_text, roster_lines
from pdfqa_core.protocols.annotation import needed
from pdfqa_core.protocols.conversations import Doing, Plan
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services
from pdfqa_core.settings import Settings
from pdfqa_core.study_types import AppliesTo
from pdfqa_core.types import Answer, Hit, Passage, Span, Turn

EVALUATORS = ("Ada", "Ben")
ANSWERED_FROM = 5  # passages shown with each answer
REPORTS, KINDS = ("results", "agreement"), ("csv", "latex")  # that --output writes
AGREE = 0.9  # how often the second judge says what the first one says of the same answer
RIGHT, FOUND = 0.75, 0.45  # how often an answer is correct and a passage relevant


def recorded(path: Path) -> list[tuple[str, str, str]]:
    """Return (question, answer, its source) of a file of JSON lines."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [(row["question"], row.get("answer") or row.get("truth") or "", path.stem) for row in rows]


def passages(texts: Sequence[str], question: str, rng: random.Random) -> tuple[Hit, ...]:
    """Return what a search finds for a question: the same for the same question, whoever asks."""
    chosen = random.Random(question).sample(range(len(texts)), ANSWERED_FROM)
    if rng.random() < 0.3:  # a follow-up that was worded otherwise finds other passages too
        chosen[-1] = rng.randrange(len(texts))
    document = "d" * 64
    return tuple(
        Hit(Passage(f"p{place:04}", (Span(document, 1 + place % 40, 0, 10),), texts[place]), 1 / rank, rank, "recorded")
        for rank, place in enumerate(dict.fromkeys(chosen), start=1)
    )


def says(key: str, likely: float, judge: str) -> bool:
    """Return what a judge says of one thing: what the first one says, or in one of ten cases the contrary."""
    truth = random.Random(f"truth|{key}").random() < likely
    differs = judge != EVALUATORS[0] and random.Random(f"{judge}|{key}").random() > AGREE
    return truth != differs


def rate(services: Services, study_id: str, name: str) -> None:
    """Rate the turns of the conversation that an evaluator has just finished."""
    roster = services.mahueval.roster(LOCAL_OWNER, study_id)
    held = roster.step(name).held if roster else None
    for turn in held.turns if held else ():
        values = {}
        for part in needed(turn, services.studies.criteria):
            if part.criterion.applies_to is AppliesTo.TURN:
                value = part.criterion.scale[sum(map(ord, turn.question)) % len(part.criterion.scale)]
            elif part.rank:
                passage = turn.answer.hits[part.rank - 1].passage.id
                value = "1" if says(f"{turn.question}|{passage}", FOUND, name) else "0"
            else:
                value = "1" if says(turn.question, RIGHT, name) else "0"
            values[part.key] = value
        services.studies.save(LOCAL_OWNER, study_id, name, turn.id, values, seconds=20.0)
    services.studies.look_if_open(LOCAL_OWNER, study_id)


def play(services: Services, study_id: str, rows: Sequence[tuple[str, str, str]], seed: int) -> int:
    """Have both evaluators hold and rate all conversations, in turns; return how many turns were held."""
    rng, texts, held = random.Random(seed), [f"{answer} {question}" for question, answer, _ in rows], 0
    answers = {question: answer for question, answer, _ in rows}
    while True:
        waiting = 0
        for name in EVALUATORS:
            roster = services.mahueval.roster(LOCAL_OWNER, study_id)
            assert roster is not None
            step = roster.step(name)
            if step.doing in (Doing.DONE, Doing.WAIT):
                waiting += 1
                continue
            suggested = services.mahueval.suggestions(roster, name, 1)
            first = step.first_question or (suggested or (rows[rng.randrange(len(rows))][0],))[0]
            start = next((i for i, row in enumerate(rows) if row[0] == first), 0)
            turns = rng.randint(roster.plan.least, roster.plan.most)
            for number in range(turns):
                question = first if number == 0 else rows[(start + number) % len(rows)][0]
                answer = Answer(
                    answers.get(question, "It is not said."), hits=passages(texts, question, rng), model="recorded",
                    reader="recorded",
                )  # fmt: skip
                turn = Turn(uuid.uuid4().hex, number + 1, question, question, answer)
                services.mahueval.record(LOCAL_OWNER, study_id, name, turn)
                held += 1
            services.mahueval.finish(LOCAL_OWNER, study_id, name)
            rate(services, study_id, name)
        if waiting == len(EVALUATORS):
            return held


def main() -> None:
    """Play, and print roster, tables and agreement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, help="recorded answers as JSON lines of question and answer")
    parser.add_argument("--quick", action="store_true", help="two conversations a round instead of ten")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a folder for the tables as CSV and LaTeX")
    arguments = parser.parse_args()
    began = time.perf_counter()
    rows = recorded(arguments.data or SAMPLE / "questions.jsonl")
    plan = Plan(EVALUATORS, 2 if arguments.quick else 10, questions=tuple(question for question, _, _ in rows))
    with tempfile.TemporaryDirectory() as folder, Services.open(Path(folder), Settings()) as services:
        study = services.mahueval.begin(LOCAL_OWNER, "MaHuEval", plan)
        turns = play(services, study.id, rows, arguments.seed)
        roster = services.mahueval.roster(LOCAL_OWNER, study.id)
        assert roster is not None
        print("\n".join(roster_lines(roster)))
        print()
        print(results_text(services.study_reports.results(LOCAL_OWNER, study.id, None)))
        print()
        print("\n".join(overlap_lines(services.mahueval.overlap(LOCAL_OWNER, study.id, None))))
        for kind in KINDS if arguments.output else ():
            for report in REPORTS:
                file = services.study_reports.file(LOCAL_OWNER, study.id, report, kind, None)
                arguments.output.mkdir(parents=True, exist_ok=True)
                (arguments.output / file.name).write_bytes(file.data)
                print(f"written: {arguments.output / file.name}")
    print(f"\n{len(roster.held)} conversations, {turns} turns in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
