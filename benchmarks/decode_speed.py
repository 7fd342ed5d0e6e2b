"""How fast answers are written through the app's reader, against llama-cpp-python's own `Llama` called directly.

Both get the same prompt (as tokens), model file, threads, context and batch size, and take the most likely token each
time; the app's side is the whole generative reader: events, filter of markers, stop signal. Rounds are interleaved and
begin in turns, each with a prompt of its own, so that both read it afresh. Timed is from the first token to the last.
Prints the medians of tokens per second, whether both wrote the same text, and last the median of the rounds' ratios,
app to direct (1: the app costs nothing).

    python benchmarks/decode_speed.py [--quick] [--threads 0] [--model smollm2-135m] [--tokens 96]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.llm import LlamaCpp  # noqa: E402
from pdfqa_core.llm.catalogue import resolve  # noqa: E402
from pdfqa_core.reading import GenerativeReader  # noqa: E402
from pdfqa_core.settings import (  # noqa: E402
    LLMSettings,
    models_path,
)
from pdfqa_core.types import Done, Hit, Passage, Progress, Span, Token  # noqa: E402

CONTEXT = 4096
TEXT = (
    "The plan pays for visits to a doctor of the network, for medicines on the list and for care in an emergency. "
    "A visit costs 20 dollars, a medicine 5 dollars, and a night in a hospital 150 dollars. Members may change their "
    "doctor once a month. Claims are sent in within 90 days, and the answer comes within two weeks. "
)
INSTRUCTION = "Explain everything that the text says, point by point, in a long and detailed answer."


class Endless:
    """A stop signal that is looked at like a real one and never set."""

    def is_set(self) -> bool:
        """Never."""
        return False


def hits(number: int) -> list[Hit]:
    """Return two passages; `number` makes them differ from the first word on."""
    return [
        Hit(Passage(f"p{rank}", (Span("d", rank, 0, 1),), f"Plan {number}, part {rank}. {TEXT}"), 1.0, rank, "bm25")
        for rank in (1, 2)
    ]


def through_the_app(llm: LlamaCpp, number: int, tokens: int) -> tuple[float, str]:
    """Return tokens per second and the text."""
    reader = GenerativeReader(llm, max_tokens=tokens, instruction=INSTRUCTION)
    first = last = 0.0
    written, text = 0, ""
    for event in reader.read("What does the plan pay for?", hits(number), stop=Endless()):
        if event == Progress("writing"):
            first = time.perf_counter()
        elif isinstance(event, Token):
            last = time.perf_counter()
            text += event.text
        elif isinstance(event, Done):
            written = event.answer.completion_tokens
    if not text:
        sys.exit("The model wrote nothing.")
    return (written - 1) / (last - first), text


def directly(llama: Any, prompt: list[int], tokens: int) -> tuple[float, str]:
    """Return tokens per second and the text."""
    first = last = 0.0
    count, text = 0, ""
    for chunk in llama.create_completion(prompt, max_tokens=tokens, temperature=0.0, stream=True):
        last = time.perf_counter()
        first = first or last
        count += bool(chunk["choices"][0]["text"])
        text += chunk["choices"][0]["text"]
    return (count - 1) / (last - first), text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4 rounds instead of 12")
    parser.add_argument("--threads", type=int, default=0, help="0: one per physical core")
    parser.add_argument("--model", default="smollm2-135m", help="name of the catalogue, or a GGUF file")
    parser.add_argument("--tokens", type=int, default=96, help="length of an answer")
    chosen = parser.parse_args()

    from llama_cpp import Llama

    path = resolve(chosen.model, models_path(LLMSettings()))
    app = LlamaCpp(path, context_size=CONTEXT, threads=chosen.threads)
    app.load()
    direct = Llama(
        str(path), n_ctx=app.context_size, n_threads=app.threads, n_threads_batch=app.threads, n_batch=512,
        n_ubatch=512, verbose=False,
    )  # fmt: skip
    reader = GenerativeReader(app, instruction=INSTRUCTION)
    speeds: dict[str, list[float]] = {"app": [], "direct": []}
    same = 0
    for number in range(-1, 4 if chosen.quick else 12):  # the round -1 is not counted
        evidence = reader.fitting("What does the plan pay for?", hits(number))
        prompt = app._tokens(reader.messages("What does the plan pay for?", evidence))
        runs = {
            "app": lambda number=number: through_the_app(app, number, chosen.tokens),
            "direct": lambda prompt=prompt: directly(direct, prompt, chosen.tokens),
        }
        found = {name: runs[name]() for name in (sorted(runs) if number % 2 else sorted(runs, reverse=True))}
        if number >= 0:
            same += found["app"][1].strip() == found["direct"][1].strip()
            for name, (speed, _) in found.items():
                speeds[name].append(speed)
    rounds = len(speeds["app"])
    print(f"{path.name}, {app.threads} threads, {rounds} rounds, {chosen.tokens} tokens at most")
    for name, values in speeds.items():
        print(f"{name:<7} {median(values):6.1f} tokens/s   ({min(values):.1f} to {max(values):.1f})")
    print(f"same text in {same} of {rounds} rounds")
    ratios = [ours / theirs for ours, theirs in zip(speeds["app"], speeds["direct"], strict=True)]
    print(f"tokens per second, app / direct: {median(ratios):.3f}")


if __name__ == "__main__":
    main()
