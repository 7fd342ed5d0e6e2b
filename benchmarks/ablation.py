"""What each part of the answer path is worth: the whole program with one part switched off, one at a time.

Of each set (those of `answers.py` that are right or wrong by rule) all questions are asked first with everything, then
without one part. A part earns its place where without it at least one question in a hundred gets worse for a person:
useful before and not any more, or sure and wrong only now. Printed for each part: questions that get
worse and better, with n, and the difference of the shares *useful* and *sure, wrong* with its 95 % bootstrap interval.
The model's replies and its yes are kept by prompt in --keep, so that a part costs only the prompts that it changes.

    python benchmarks/ablation.py --keep FOLDER [--set NAME …] [--part NAME …] [--system NAME] [--threads N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from answers import DEFAULT, SETS, SHARED, Item, answers, measured, settings_for

from pdfqa_core.interfaces import Usage
from pdfqa_core.llm.llama_cpp import LlamaCpp
from pdfqa_core.metrics.statistics import summarise
from pdfqa_core.reading import evidence, outcomes
from pdfqa_core.reading.answerability import AGREED
from pdfqa_core.reading.generative import GenerativeReader
from pdfqa_core.services import answers as asking
from pdfqa_core.services import finding
from pdfqa_core.settings import Settings

Measured = Mapping[str, Mapping[str, float | None]]
WORTH = 0.01  # of the questions that have to get worse


@contextmanager
def kept_replies(file: Path) -> Iterator[None]:
    """Let a language model say what it said to the same prompt before; what is new goes into the file."""
    known: dict[str, Any] = dict(map(json.loads, file.read_text("utf-8").splitlines())) if file.exists() else {}
    stream, choose = LlamaCpp.stream, LlamaCpp.choose

    def key(model: LlamaCpp, *asked: Any) -> str:
        return hashlib.sha256(repr((model.name, *asked)).encode()).hexdigest()

    def keep(name: str, value: Any) -> None:
        known[name] = value
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps([name, value]) + "\n")

    def streamed(model: LlamaCpp, messages: Sequence[Any], **asked: Any) -> Iterator[Any]:
        asked_for = {name: value for name, value in asked.items() if name != "stop"}
        name = key(model, list(messages), sorted(asked_for.items(), key=str))
        if name not in known:
            items = list(stream(model, messages, **asked))
            usage = next(one for one in items if isinstance(one, Usage))
            text = "".join(one for one in items if isinstance(one, str))
            keep(name, [text, usage.prompt_tokens, usage.completion_tokens, usage.finish_reason])
        text, prompt, completion, reason = known[name]
        yield text
        yield Usage(prompt, completion, reason)

    def chosen(model: LlamaCpp, messages: Sequence[Any], choices: Sequence[str], **_asked: Any) -> Mapping[str, float]:
        name = key(model, list(messages), list(choices))
        if name not in known:
            keep(name, dict(choose(model, messages, choices)))
        return dict(known[name])

    with patch.object(LlamaCpp, "stream", streamed), patch.object(LlamaCpp, "choose", chosen):
        yield


@dataclass(frozen=True)
class Part:
    """How a part is switched off: by settings, or by another value of a name in a module."""

    settings: Callable[[Settings], Settings] = lambda whole: whole
    off: tuple[Any, str, Any] | None = None


def _unweighed(signals: Mapping[str, float], model: str) -> float:
    """Return how likely an answer is right without the model's yes."""
    return _sureness({name: value for name, value in signals.items() if name != AGREED}, model)


def _told(reader: GenerativeReader, *asked: Any) -> Any:
    """Return the prompt with the question before."""
    reader.form = replace(reader.form, before=True)
    return _messages(reader, *asked)


_sureness, _messages = outcomes.sureness, GenerativeReader.messages
PARTS = {
    "the turn before, in the search": Part(lambda whole: whole.changed("conversation", rewriter="none")),
    "a prompt without the question before": Part(off=(GenerativeReader, "messages", _told)),
    "spelling": Part(lambda whole: whole.changed("retrieval", spelling=False)),
    "the row of a table": Part(off=(finding, "with_row", lambda hits, _row, k: list(hits)[:k])),
    "a document by its name": Part(off=(finding, "named", lambda _question, _names: "")),
    "whole sentences": Part(off=(finding, "completed", lambda hits, _text: list(hits))),
    "sentences by relevance": Part(
        off=(evidence, "relevance", lambda _q, found, _m, before="": [-float(one.hit.rank) for one in found])
    ),
    "neighbours of the best line": Part(off=(evidence, "LONGEST_LINES", 0)),
    "lines of a second place": Part(off=(evidence, "PIECES", 1)),
    "the model's yes before": Part(lambda whole: whole.changed("reading", confidence_threshold=0.0)),
    "the model's yes about its answer": Part(off=(outcomes, "sureness", _unweighed)),
    "a yes or no is never sure": Part(off=(outcomes, "begins_with_verdict", lambda _text: False)),
    "requests for a summary": Part(off=(asking, "asks_for_summary", lambda _question, _meaning: False)),
    "ticks by meaning": Part(lambda whole: whole.changed("reading", check_meaning=False)),
}


def asked(name: str, part: Part, chosen: argparse.Namespace) -> tuple[tuple[Item, ...], Measured]:
    """Return the questions of a set, and what is measured of each while a part is switched off."""
    data = SETS[name](chosen.data)
    settings = part.settings(settings_for(chosen.system, chosen.threads))
    with ExitStack() as stack:
        stack.enter_context(kept_replies(chosen.keep / "replies.jsonl"))
        stack.enter_context(patch("answers.settings_for", lambda *_given, **_options: settings))
        if part.off is not None:
            stack.enter_context(patch.object(*part.off))
        rows = list(answers(data, chosen.system, chosen.keep / f"workspace-{name}", chosen.threads))
    return data.items, {item.id: measured(row, item, True) for item, row in rows}


def worse(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> int:
    """Return 1 where a question got worse for a person, -1 where it got better, else 0."""

    def harm(one: Mapping[str, float | None]) -> float:
        return (one["sure, wrong"] or 0.0) + (one["others, sure"] or 0.0) - (one["useful"] or 0.0)

    return (harm(after) > harm(before)) - (harm(after) < harm(before))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="folder for replies and workspaces")
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--set", nargs="+", choices=SETS, default=["everyday", "strangers"])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--system", default=DEFAULT)
    parser.add_argument("--threads", type=int, default=0)
    chosen = parser.parse_args()
    chosen.keep.mkdir(parents=True, exist_ok=True)
    whole = {name: asked(name, Part(), chosen) for name in chosen.set}
    count = sum(len(items) for items, _ in whole.values())
    print(f"without                              worse better of {count}    useful                    sure, wrong")
    for part in chosen.part:
        pairs = []
        for name, (items, before) in whole.items():
            after = asked(name, PARTS[part], chosen)[1]
            pairs += [(before[item.id], after[item.id]) for item in items]
        moves = [worse(*pair) for pair in pairs]
        cells = []
        for measure in ("useful", "sure, wrong"):
            found = summarise([b[measure] - a[measure] for a, b in pairs if a[measure] is not None])
            interval = "" if found.low is None else f" [{found.low:+.3f}, {found.high:+.3f}]"
            cells.append(f"{found.mean:+.3f}{interval}")
        stays = moves.count(1) >= WORTH * count
        counts = f"{moves.count(1):>5} {moves.count(-1):>6}  {'stays' if stays else '-':<8}"
        print(f"{part:<36} {counts}" + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
