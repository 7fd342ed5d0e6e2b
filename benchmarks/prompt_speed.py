"""How fast prompts are read and answers written: kernels and batch sizes, beside llama-cpp-python's own `Llama`.

Weights as they lie in the file (what the program chooses on x86), laid out anew for llama.cpp's repacked kernels (its
default), batches of 128 and 512 tokens, and `Llama` with its defaults and the same threads and context. Every round
gives each of them another piece of one text, read afresh; printed are the most tokens per second of all rounds, because
the rest of the machine can only make them fewer. Last the ratio of the prompt speeds, the program's choice to `Llama`.

    python benchmarks/prompt_speed.py [--quick] [--model NAME …] [--threads 0] [--rounds 5] [--words 400]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.interfaces import Message, Usage  # noqa: E402
from pdfqa_core.llm import LlamaCpp  # noqa: E402
from pdfqa_core.llm.catalogue import DEFAULT, SMALLER, resolve  # noqa: E402
from pdfqa_core.llm.hardware import physical_cores, repacking_pays  # noqa: E402
from pdfqa_core.settings import (  # noqa: E402
    LLMSettings,
    models_path,
)

CONTEXT, WRITTEN = 2048, 24
Speed = Callable[[str], tuple[float, float]]  # text -> tokens per second of the prompt, and written


def through_the_app(path: Path, threads: int, batch_size: int, repack: bool) -> Speed:
    """Return what measures the program's engine."""
    llm = LlamaCpp(path, context_size=CONTEXT, threads=threads, batch_size=batch_size, repack=repack)
    llm.load()

    def speed(text: str) -> tuple[float, float]:
        began, first, usage = time.perf_counter(), 0.0, Usage()
        for piece in llm.stream([Message("user", text)], max_tokens=WRITTEN):
            if isinstance(piece, Usage):
                usage = piece
            elif isinstance(piece, str):
                first = first or time.perf_counter()
        ended = time.perf_counter()
        return usage.evaluated_tokens / (first - began), (usage.completion_tokens - 1) / (ended - first)

    return speed


def directly(path: Path, threads: int) -> Speed:
    """Return what measures llama-cpp-python's own class."""
    from llama_cpp import Llama

    llama: Any = Llama(str(path), n_ctx=CONTEXT, n_threads=threads, n_threads_batch=threads, verbose=False)

    def speed(text: str) -> tuple[float, float]:
        tokens = llama.tokenize(text.encode())
        llama.reset()
        began = time.perf_counter()
        llama.eval(tokens)
        read = time.perf_counter()
        for _ in range(WRITTEN - 1):
            llama.eval([llama.sample(temp=0.0)])
        return len(tokens) / (read - began), (WRITTEN - 1) / (time.perf_counter() - read)

    return speed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round of the smallest model")
    parser.add_argument("--model", nargs="+", default=[DEFAULT, SMALLER])
    parser.add_argument("--threads", type=int, default=0, help="0: one per physical core")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--words", type=int, default=400, help="of a prompt")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.model, chosen.rounds, chosen.words = ["smollm2-135m"], 1, 100
    threads = chosen.threads or physical_cores()
    words = (ROOT / "README.md").read_text("utf-8").split()
    for model in chosen.model:
        path = resolve(model, models_path(LLMSettings()))
        systems = {
            "as in the file, 512": through_the_app(path, threads, 512, repack=False),
            "as in the file, 128": through_the_app(path, threads, 128, repack=False),
            "repacked, 512": through_the_app(path, threads, 512, repack=True),
            "repacked, 128": through_the_app(path, threads, 128, repack=True),
            "Llama": directly(path, threads),
        }
        best = dict.fromkeys(systems, (0.0, 0.0))
        draw = random.Random(0)
        for _ in range(chosen.rounds):
            for name, speed in systems.items():
                read, written = speed(" ".join(draw.choices(words, k=chosen.words)))
                best[name] = max(best[name][0], read), max(best[name][1], written)
        print(f"\n{model}, {threads} threads, tokens per second: prompt, written")
        for name, (read, written) in best.items():
            print(f"  {name:<22}{read:8.0f}{written:8.0f}")
        ours = "repacked, 512" if repacking_pays() else "as in the file, 512"
        print(f"{model}, prompt, {ours} / Llama: {best[ours][0] / best['Llama'][0]:.2f}")


if __name__ == "__main__":
    main()
