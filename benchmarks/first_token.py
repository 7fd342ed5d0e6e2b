"""How long a question waits for the first token and for the whole answer, and for the first token of the next question.

Questions about the sample report with the default settings, through the services as the page asks them, each in a
conversation of its own, the models loaded and the index built before: seconds to the first token (understanding,
search, judging and reading the prompt) and to the checked answer. Then the reader alone on what was found: a question
whose evidence the model has not read, and the next question on the same evidence, of which only the question has to be
read. Last the ratio of these, cold to next.

    python benchmarks/first_token.py [--quick] [--model NAME] [--threads 0]
"""

from __future__ import annotations

import time
from statistics import median

from common import json_lines, options, row, workspace

from pdfqa_core.interfaces import Message
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, profile, resolve
from pdfqa_core.reading import GenerativeReader
from pdfqa_core.reading.prompts import FORMS
from pdfqa_core.services import LOCAL_OWNER, SAMPLE
from pdfqa_core.settings import Settings, models_path
from pdfqa_core.types import Hit, Retrieved, Stored

FIRST, WHOLE = 3.0, 6.0  # seconds to the first token and of the whole answer that are hoped for
NEXT = "In which year was that, and who says so?"

Found = list[tuple[str, tuple[Hit, ...]]]


def whole_questions(settings: Settings, questions: list[str]) -> Found:
    """Print the seconds of the questions that the model answered; return these with their hits."""
    first, whole, found = [], [], []
    with workspace(settings, SAMPLE.glob("*.pdf")) as services:
        list(services.answers.ask(LOCAL_OWNER, "What is this report about?", settings))  # loads the models
        for question in questions:
            hits: tuple[Hit, ...] = ()
            began = time.perf_counter()
            for event in services.answers.ask(LOCAL_OWNER, question, settings):
                if isinstance(event, Retrieved):
                    hits = event.hits
                if isinstance(event, Stored) and "first_token" in event.turn.answer.seconds:
                    first.append(event.turn.answer.seconds["first_token"])
                    whole.append(time.perf_counter() - began)
                    found.append((question, hits))
    print(f"{len(found)} of {len(questions)} questions were answered by {settings.llm.model}")
    for name, seconds, goal in (("first token", first, FIRST), ("whole answer", whole, WHOLE)):
        row(name, f"{median(seconds):.2f} s", f"at most {max(seconds):.2f}", f"(goal: below {goal:.0f})", width=20)
    return found


def first_token(llm: LlamaCpp, reader: GenerativeReader, question: str, hits: tuple[Hit, ...]) -> float:
    """Return the seconds that the reader needs to the first token."""
    began = time.perf_counter()
    pieces = llm.stream(reader.messages(question, reader.fitting(question, hits)), max_tokens=2)
    seconds = [
        time.perf_counter() - began for piece in pieces if isinstance(piece, str)
    ]  # to the end: it frees the model
    return min(seconds)


def main() -> None:
    parser = options(__doc__, quick="4 questions instead of all answerable ones")
    parser.add_argument("--threads", type=int, default=0, help="0: one per physical core")
    parser.add_argument("--model", default=DEFAULT, help="name of the catalogue, or a GGUF file")
    chosen = parser.parse_args()
    rows = json_lines(SAMPLE / "questions.jsonl")
    questions = [one["question"] for one in rows if one["answerable"] and "follow_up_of" not in one]
    settings = (
        Settings().changed("llm", model=chosen.model, threads=chosen.threads).changed("reading", reader="generative")
    )
    found = whole_questions(settings, questions[: 4 if chosen.quick else None])

    llm = LlamaCpp(resolve(chosen.model, models_path(settings.llm)), threads=chosen.threads)
    llm.load()
    suited = profile(settings.llm.engine, chosen.model, llm.threads)
    form = FORMS[suited.prompts]
    reader = GenerativeReader(llm, passages=suited.passages, prompt_tokens=suited.tokens, form=form)
    cold, later = [], []
    for question, hits in found:
        list(llm.stream([Message("user", "Something else.")], max_tokens=1))  # what was read before is forgotten
        cold.append(first_token(llm, reader, question, hits))
        later.append(first_token(llm, reader, NEXT, hits))
    row("reader alone, first token", f"cold {median(cold):.2f} s", f"next {median(later):.2f} s", width=20)
    print(f"seconds to the first token, cold / next question: {median(cold) / median(later):.1f}")


if __name__ == "__main__":
    main()
