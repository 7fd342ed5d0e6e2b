"""How much a language model is given to read, and in which form: by the model, and by the machine that it runs on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.llm.catalogue import entry, is_path
from pdfqa_core.llm.gpu import Gpu, find_gpu

CORES = 2  # of the machine that the catalogue's numbers of tokens were measured on
MOST = 4  # times as many tokens are read at most on a faster machine


@dataclass(frozen=True, slots=True)
class Profile:
    """How a model is asked: `prompts` names its family's form, `passages` and `tokens` (0: all) are what it reads."""

    prompts: str = "plain"
    passages: int = 4
    tokens: int = 0


def profile(
    engine: str, model: str, threads: int, gpu_layers: int = 0, gpu: Callable[[], Gpu | None] = find_gpu
) -> Profile:
    """Return the profile of a model of the catalogue, of a file or of a server.

    The tokens grow with the number of threads; a server, or a GPU that holds the model, reads whole passages.
    """
    if engine == "openai":
        return Profile()
    try:
        known = None if is_path(model) else entry(model)
    except UsageError:
        known = None
    found = Profile(known.prompts, known.passages, known.evidence_tokens) if known else Profile(tokens=400)
    card = gpu() if gpu_layers else None
    if card is not None and card.holds(known.size if known else _size(model)):
        return Profile(found.prompts, found.passages)
    times = min(max(1.0, threads / CORES), MOST)
    return Profile(found.prompts, found.passages, round(found.tokens * times))


def _size(model: str) -> int:
    try:
        return Path(model).expanduser().stat().st_size
    except OSError:  # it is missing, which loading it tells
        return 0
