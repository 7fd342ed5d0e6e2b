"""How long a question waits for the first token: cold, and asked again about the same evidence.

First whole questions with the default settings about the sample report, through the services as the page asks them:
seconds from the question to the first token (understanding, search, judging and reading the prompt) and to the checked
answer, every question in a conversation of its own, the model loaded and the index built before. Then the reader alone
on what was found, ten whole passages and what it reads by default: a question whose evidence the model has not read,
and the next question on the same evidence, of which only the question has to be read. Prints both, and last the ratio
cold to second (above 1: the second is faster).

    python benchmarks/first_token.py [--quick] [--model NAME] [--threads 0]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from pdfqa_core.interfaces import Message, Usage  # noqa: E402
from pdfqa_core.llm import LlamaCpp  # noqa: E402
from pdfqa_core.llm.base import Profile, profile  # noqa: E402
from pdfqa_core.llm.catalogue import DEFAULT, resolve  # noqa: E402
from pdfqa_core.reading import GenerativeReader  # noqa: E402
from pdfqa_core.reading.prompts import FORMS  # noqa: E402
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Services  # noqa: E402
from pdfqa_core.settings import (  # noqa: E402
    Settings,
    models_path,
)
from pdfqa_core.types import Hit, Retrieved, Stored  # noqa: E402

FIRST, WHOLE = 3.0, 6.0  # seconds to the first token and of the whole answer that are hoped for
SECOND = "In which year was that, and who says so?"


def whole_questions(
    settings: Settings, questions: list[str]
) -> tuple[list[float], list[float], list[tuple[str, tuple[Hit, ...]]]]:
    """Return seconds to the first token and in all, of the questions that the model answered; and these with hits."""
    seconds: list[float] = []
    whole: list[float] = []
    found: list[tuple[str, tuple[Hit, ...]]] = []
    with tempfile.TemporaryDirectory() as folder, Services.open(Path(folder), settings) as services:
        list(services.documents.add_sample(LOCAL_OWNER))
        list(services.indexes.build(LOCAL_OWNER, settings))
        list(services.answers.ask(LOCAL_OWNER, "What is this report about?", settings))  # loads the models
        for question in questions:
            hits: tuple[Hit, ...] = ()
            since = time.perf_counter()
            for event in services.answers.ask(LOCAL_OWNER, question, settings):
                if isinstance(event, Retrieved):
                    hits = event.hits
                if isinstance(event, Stored) and "first_token" in event.turn.answer.seconds:
                    seconds.append(event.turn.answer.seconds["first_token"])
                    whole.append(time.perf_counter() - since)
                    found.append((question, hits))
    return seconds, whole, found


def first_token(llm: LlamaCpp, question: str, hits: tuple[Hit, ...], read: Profile) -> tuple[float, int]:
    """Return the seconds that the reader needs to the first token, and how many tokens of the prompt were read."""
    began, first = time.perf_counter(), 0.0
    reader = GenerativeReader(llm, passages=read.passages, prompt_tokens=read.tokens, form=FORMS[read.prompts])
    for piece in llm.stream(reader.messages(question, reader.fitting(question, hits)), max_tokens=2):
        if isinstance(piece, Usage) and first:
            return first - began, piece.evaluated_tokens
        if isinstance(piece, str):
            first = first or time.perf_counter()
    sys.exit("The model wrote nothing.")


def compare(llm: LlamaCpp, found: list[tuple[str, tuple[Hit, ...]]], read: Profile) -> float:
    """Print the seconds of cold and second questions about what is read; return the median ratio."""
    cold: list[float] = []
    second: list[float] = []
    tokens: list[int] = []
    again: list[int] = []
    for question, hits in found:
        list(llm.stream([Message("user", "Something else.")], max_tokens=1))  # what was read before is forgotten
        for question_, times, counts in ((question, cold, tokens), (SECOND, second, again)):
            took, evaluated = first_token(llm, question_, hits, read)
            times.append(took)
            counts.append(evaluated)
    ratio = median(first / later for first, later in zip(cold, second, strict=True))
    what = f"{read.passages} passages, {f'{read.tokens} tokens of them' if read.tokens else 'whole'}"
    print(
        f"reader alone, {what}: cold {median(cold):.2f} s ({median(tokens):.0f} tokens read), "
        f"second {median(second):.2f} s ({median(again):.0f} tokens read), {ratio:.1f} times faster"
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4 questions instead of all answerable ones")
    parser.add_argument("--threads", type=int, default=0, help="0: one per physical core")
    parser.add_argument("--model", default=DEFAULT, help="name of the catalogue, or a GGUF file")
    chosen = parser.parse_args()
    rows = [json.loads(line) for line in (SAMPLE / "questions.jsonl").read_text("utf-8").splitlines()]
    questions = [row["question"] for row in rows if row["answerable"] and "follow_up_of" not in row]
    questions = questions[: 4 if chosen.quick else None]
    settings = Settings().changed("llm", model=chosen.model, threads=chosen.threads)
    settings = settings.changed("retrieval", k=10)  # more passages are shown; as many as before are read

    first, whole, found = whole_questions(settings, questions)
    print(f"{len(first)} of {len(questions)} questions were answered by {chosen.model}")
    for name, seconds, goal in (("first token", first, FIRST), ("whole answer", whole, WHOLE)):
        print(f"cold, {name}: median {median(seconds):.2f} s, longest {max(seconds):.2f} s (goal: below {goal:.0f} s)")

    llm = LlamaCpp(resolve(chosen.model, models_path(settings.llm)), threads=chosen.threads)
    llm.load()
    default = profile(settings.llm.engine, chosen.model, llm.threads)
    compare(llm, found, replace(default, passages=settings.retrieval.k, tokens=0))
    ratio = compare(llm, found, default)
    print(f"seconds to the first token with the default settings, cold / second question: {ratio:.1f}")


if __name__ == "__main__":
    main()
