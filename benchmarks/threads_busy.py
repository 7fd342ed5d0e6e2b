"""How many threads write fastest when another program keeps one core busy: the rule behind `threads = 0`.

A process that counts keeps one core busy, if at all. Answers are written with all physical cores and with one less,
in turns; printed are the medians of tokens per second, what `default_threads` chooses in each case, and last the ratio
on a busy machine: one thread less to one per core (above 1: leaving the busy core alone pays).

    python benchmarks/threads_busy.py [--quick] [--model smollm2-135m] [--tokens 96]
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.interfaces import Message, Usage  # noqa: E402
from pdfqa_core.llm import LlamaCpp  # noqa: E402
from pdfqa_core.llm.catalogue import resolve  # noqa: E402
from pdfqa_core.llm.hardware import default_threads, physical_cores  # noqa: E402


def count() -> None:
    while True:
        pass


@contextmanager
def busy_cores(number: int) -> Iterator[None]:
    """Keep so many cores busy."""
    workers = [multiprocessing.Process(target=count, daemon=True) for _ in range(number)]
    for worker in workers:
        worker.start()
    time.sleep(0.3)
    try:
        yield
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def write_speed(llm: LlamaCpp, number: int, tokens: int) -> float:
    """Return the tokens per second after the first one."""
    times = []
    prompt = [Message("user", f"Story {number}: write a very long story about a town at the sea.")]
    usage = Usage()
    for piece in llm.stream(prompt, max_tokens=tokens):
        if isinstance(piece, Usage):
            usage = piece
        elif isinstance(piece, str):
            times.append(time.perf_counter())
    return (usage.completion_tokens - 1) / (times[-1] - times[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, under 45 s")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--tokens", type=int, default=96)
    arguments = parser.parse_args()
    rounds, tokens = (3, min(arguments.tokens, 48)) if arguments.quick else (9, arguments.tokens)
    cores = physical_cores()
    if cores < 2:
        sys.exit("There is one core only; there is nothing to compare.")
    path = resolve(arguments.model, ROOT / "data" / "workspace" / "models")
    engines = {threads: LlamaCpp(path, threads=threads, context_size=1024) for threads in (cores, cores - 1)}
    for llm in engines.values():
        llm.load()
    found: dict[tuple[int, int], float] = {}
    for busy in (0, 1):
        with busy_cores(busy):
            chosen = default_threads()
            rates: dict[int, list[float]] = {threads: [] for threads in engines}
            for number in range(rounds):
                for threads, llm in engines.items():
                    rates[threads].append(write_speed(llm, 100 * busy + number, tokens))
        for threads, values in rates.items():
            found[busy, threads] = median(values)
            print(f"{busy} busy cores, {threads} threads: {median(values):6.1f} tokens/s")
        print(f"{busy} busy cores: default_threads chooses {chosen}")
    print(f"ratio with a busy core, {cores - 1} to {cores} threads: {found[1, cores - 1] / found[1, cores]:.2f}")


if __name__ == "__main__":
    main()
