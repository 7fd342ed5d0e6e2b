"""Questions about passages as they are written: here, or by the workers of a cluster; nothing is stored there."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from pdfqa_core.cluster import Cluster
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.models import LanguageModel, ModelFiles
from pdfqa_core.settings import LLMSettings
from pdfqa_core.storage.document_copies import NOWHERE
from pdfqa_core.synthesis import Example, by_rules
from pdfqa_core.synthesis import Generator as Asker
from pdfqa_core.types import Passage

BY_RULES = 32  # passages of a task; a language model writes about one

Subject = tuple[Passage, str]  # a passage with the title of its document


@dataclass(frozen=True, eq=False)
class Writing:
    """How questions are written, wherever that happens: by the model of a server (`llm`, its `key`), or by rules."""

    per_passage: int
    seed: int
    examples: tuple[Example, ...] = ()
    llm: LLMSettings | None = None
    key: str = field(default="", repr=False)


def of_rules(passage: Passage, title: str, count: int) -> list[str]:
    """Return at most `count` questions about a passage that rules make."""
    made = list(dict.fromkeys(by_rules(passage, title)))
    step = max(1, len(made) // count)  # spread over the passage: of a table not the first row alone
    return made[::step][:count]


_askers: list[tuple[Writing, Asker]] = []  # on a worker: the one of the last task


def write(writing: Writing, subjects: Sequence[Subject]) -> list[list[str]]:
    """Return the questions about each passage, on a worker. Raises ModelError."""
    if writing.llm is None:
        return [of_rules(passage, title, writing.per_passage) for passage, title in subjects]
    if not _askers or _askers[0][0] is not writing:
        model = LanguageModel(writing.llm, ModelFiles(NOWHERE, NOWHERE), key=lambda url: writing.key)
        _askers[:] = [(writing, Asker(model.llm(), writing.examples))]
    asker = _askers[0][1]
    return [list(asker.questions(passage.text, writing.per_passage, writing.seed)) for passage, _ in subjects]


def written_elsewhere(
    cluster: Cluster, writing: Writing, subjects: Sequence[Subject], stop: StopSignal
) -> Generator[list[str], None, None]:
    """Yield the questions about each passage, in order, though workers end in another one.

    Raises StoppedError, ModelError, ClusterError.
    """
    size = BY_RULES if writing.llm is None else 1
    parts = [subjects[first : first + size] for first in range(0, len(subjects), size)]
    early: dict[int, list[list[str]]] = {}
    following = 0
    with closing(cluster.map(write, parts, stop, writing)) as results:
        for place, questions in results:
            early[place] = questions
            while following in early:
                yield from early.pop(following)
                following += 1
