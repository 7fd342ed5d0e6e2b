"""What the search gains from the turns before a question: the question as typed (raw), and with these turns.

TREC CAsT 2021: every turn as it was typed, with the turns before it, and as a person rewrote it (human), searched among
the gold passages of all turns. The turns before are raw questions with the passages that the conversation showed for
them as answers. "between" puts the human form of each question after the turns of another conversation, where nothing
is to be gained and what is lost shows a search led astray by its history. MT-RAG has no human forms: its tasks with
gold passages, from their second turn on. Then the follow-ups of `benchmarks/everyday` and of the conversations with odd
numbers of `strangers`, through the program's own search over all documents of the set, with the gold answers as the
history; found is the first of five hits on the gold page, or with which all words of a right answer have been seen.

Recall@5 and MRR have 95 % bootstrap intervals over conversations, what is gained over raw is paired. Last the share of
the way from raw to human, in recall@5 on CAsT, that the turns before go.

    python benchmarks/follow_ups.py [--quick] [--retriever hybrid]
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from common import ROOT, json_lines, options, row, there, workspace

from pdfqa_core.conversation import Concatenation
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.models import graphs_path
from pdfqa_core.retrieval import Encoder, Index, retrievers
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.answers import Asked
from pdfqa_core.settings import LLMSettings, Settings
from pdfqa_core.training import said
from pdfqa_core.types import Hit, Passage, Query, Retrieved, Span

QUICK = 4  # conversations
DEPTH = 1000
WITH, RAW = "with the turns before", "raw"

History = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Turn:
    """A question with its human form, the texts that answer it, what came before, and the conversation's place."""

    conversation: int
    raw: str
    human: str
    gold: frozenset[str]
    history: History


# ------------------------------------------------------------------ data


def cast(file: Path, most: int | None) -> list[Turn]:
    turns = []
    for place, conversation in enumerate(json.loads(file.read_text("utf-8"))[:most]):
        history: History = ()
        for turn in conversation["turn"]:
            raw, human = turn["raw_utterance"].strip(), turn["manual_rewritten_utterance"].strip()
            turns.append(Turn(place, raw, human, frozenset([turn["passage"]]), history))
            history += ((raw, turn["passage"]),)
    return turns


def mtrag(file: Path) -> list[Turn]:
    turns = []
    for place, task in enumerate(json_lines(file)):
        texts = [entry["text"] for entry in task["input"]]
        gold = frozenset(context["text"] for context in task["contexts"])
        if gold and texts[1:]:
            history = tuple(zip(texts[:-1:2], texts[1::2], strict=True))
            turns.append(Turn(place, texts[-1], texts[-1], gold, history))
    return turns


def between(turns: Sequence[Turn]) -> list[Turn]:
    """Return the questions in their human form, each after the turns of another conversation."""
    choose, others = random.Random(0), [turn for turn in turns if turn.history]
    return [
        replace(
            one, raw=one.human,
            history=choose.choice([o for o in others if o.conversation != one.conversation]).history,
        )
        for one in turns
    ]  # fmt: skip


# ------------------------------------------------------------------ measuring


def report(name: str, found: Mapping[str, Sequence[float]], clusters: Sequence[Any]) -> dict[str, float]:
    """Print recall@5 and MRR of each way's reciprocal ranks, and what they gain; return recall@5."""
    print(f"{name}, n {len(clusters)}")
    recall = {way: [float(one >= 1 / 5) for one in ranks] for way, ranks in found.items()}
    for way in found:
        cells = []
        for values in (recall, found):
            gained = paired_difference(values[way], values[RAW], clusters=clusters)
            cells += [said(summarise(values[way], clusters=clusters)), said(gained, sign=True)]
        row(f"  {way}", "recall@5", *cells[:2], "MRR", *cells[2:], first=24, width=27)
    return {way: sum(values) / len(values) for way, values in recall.items()}


def among_gold(name: str, turns: Sequence[Turn], encoder: Encoder, retriever: str) -> dict[str, float]:
    """Search among the gold passages of all turns; return recall@5 of each way."""
    texts = sorted({text for turn in turns for text in turn.gold})
    made = [Passage(text, (Span(str(n), 1, 0, 1),), text) for n, text in enumerate(texts)]
    search = retrievers.get(retriever)(Index.in_memory(made, encoder))
    before = Concatenation(turns=Settings().conversation.turns, encode=partial(encoder.encode, question=True))
    ways: dict[str, Callable[[Turn], str | Query]] = {
        RAW: lambda turn: turn.raw,
        WITH: lambda turn: before.rewrite(turn.raw, turn.history).query,
        "human": lambda turn: turn.human,
    }
    found: dict[str, list[float]] = {}
    for way, asked in ways.items():
        for turn in turns:
            hits = search.search(asked(turn), DEPTH)
            rank = next((1 / hit.rank for hit in hits if hit.passage.id in turn.gold), 0.0)
            found.setdefault(way, []).append(rank)
    return report(f"{name}, {retriever}", found, [turn.conversation for turn in turns])


def through_the_program(name: str, folder: Path, numbers: str, settings: Settings) -> None:
    """Search as the program does for the follow-ups of the conversations whose numbers end in `numbers`."""
    before: dict[str, History] = {}
    follow_ups = []
    for one in json_lines(folder / "questions.jsonl"):
        conversation = one["id"].rpartition("-")[0]
        history = before.get(conversation, ())
        before[conversation] = (*history, (one["question"], one["answer"] if one["answerable"] else ""))
        if history and one["answerable"] and conversation[-1] in numbers:
            follow_ups.append((conversation, one, history))
    found: dict[str, list[float]] = {}
    with workspace(settings, sorted(folder.glob("*.pdf"))) as services:
        names = services.documents.filenames(LOCAL_OWNER)
        for way, rewriter in ((RAW, "none"), (WITH, "concatenation")):
            chosen = settings.changed("conversation", rewriter=rewriter)
            for _, one, history in follow_ups:
                events = services.answers.answer(
                    Asked(LOCAL_OWNER, one["question"], chosen, history), threading.Event()
                )
                hits = next(event.hits for event in events if isinstance(event, Retrieved))
                found.setdefault(way, []).append(reciprocal_rank(hits[:5], one, names))
    report(f"{name}, five hits", found, [conversation for conversation, _, _ in follow_ups])


def reciprocal_rank(hits: Sequence[Hit], asked: Mapping[str, Any], names: Mapping[str, str]) -> float:
    """Return 1 / rank of the hit on the gold page, or with which all words of a right answer have been seen."""
    seen = ""
    for hit in hits:
        seen += f"\n{hit.passage.text}"
        on = {(names[span.document_id], span.page) for span in hit.passage.spans}
        words = all(re.search(one, seen, re.IGNORECASE | re.MULTILINE) for one in asked["must"])
        if (asked["document"], asked["page"]) in on if "page" in asked else words:
            return 1 / hit.rank
    return 0.0


def main() -> None:
    parser = options(__doc__, quick=f"{QUICK} conversations of CAsT, nothing else")
    parser.add_argument("--retriever", choices=retrievers.names(), default=Settings().retrieval.retriever)
    chosen = parser.parse_args()
    folder, encoder = chosen.data / "conversations", Encoder(graphs=graphs_path(LLMSettings()))
    there(folder / "cast2021_manual.json")
    turns = cast(folder / "cast2021_manual.json", QUICK if chosen.quick else None)
    found = among_gold("CAsT 2021", turns, encoder, chosen.retriever)
    among_gold("CAsT 2021, between", between(turns), encoder, chosen.retriever)
    if not chosen.quick:
        among_gold("MT-RAG", mtrag(folder / "mtrag_un_reference.jsonl"), encoder, chosen.retriever)
        plain = Settings().changed("reading", reader="extractive", refusal="none")
        plain = plain.changed("retrieval", retriever=chosen.retriever)
        through_the_program("everyday", ROOT / "benchmarks" / "everyday", "0123456789", plain)
        through_the_program("strangers, odd", chosen.data / "strangers", "13579", plain)
    way = (found[WITH] - found[RAW]) / ((found["human"] - found[RAW]) or 1.0)
    print(f"of the way from raw to human, {len(turns)} turns: {way:.2f}")


if __name__ == "__main__":
    main()
