"""What the search gains from the turns before a question, with each rewriter.

TREC CAsT 2021: every turn's question as it was typed (raw), with each rewriter, and as a person rewrote it (human),
searched among the gold passages of all turns; "a person in its place" is the llm rewriter, if its model wrote what the
person did. The history of a turn are the raw questions before it, with the passages that the conversation showed for
them as the answers. Recall@5 and MRR with their 95 % bootstrap intervals, and what concatenation gains over raw.
"between": the human form of each question put after the turns of another conversation, where nothing is to be gained
and what is lost shows a search polluted by its history. The same for MT-RAG, which has no human rewritings: its tasks
with gold passages, from their second turn on.

The weights of `concatenation` are chosen on CAsT 2019 (every second conversation) and 2020, whose passages are not
here: the follow-ups search for their own human form among all human forms, an easy task for the question as typed.

Then the follow-ups of `benchmarks/everyday` and of the conversations with odd numbers of `strangers`, through the
program's own search over all documents of the set, with the gold answers as the history. Found is the first hit on the
gold page, or with which all words of a right answer have been seen (everyday).

Last line: the share of the way from raw to human, in recall@5, that the default rewriter goes with the default
retriever.

    python benchmarks/rewriting_cast2021.py [--quick] [--model NAME_OR_PATH] [--no-llm]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from pdfqa_core.conversation import Concatenation, LLMRewriter  # noqa: E402
from pdfqa_core.conversation.rewriters import beside  # noqa: E402
from pdfqa_core.llm import LlamaCpp  # noqa: E402
from pdfqa_core.llm.catalogue import resolve  # noqa: E402
from pdfqa_core.metrics.statistics import Summary, summarise  # noqa: E402
from pdfqa_core.retrieval import Encoder, Index, retrievers  # noqa: E402
from pdfqa_core.services import LOCAL_OWNER, Services  # noqa: E402
from pdfqa_core.services.answers import Asked  # noqa: E402
from pdfqa_core.settings import (  # noqa: E402
    Settings,
    models_path,
)
from pdfqa_core.types import Hit, Passage, Query, Retrieved, Rewritten, Span  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "conversations"
TUNING = DATA.parent / "rewriting"
RETRIEVERS = ("hybrid", "bm25", "dense")
QUICK = 4  # conversations

History = tuple[tuple[str, str], ...]
Ask = Callable[["Turn"], str | Query]


@dataclass(frozen=True)
class Turn:
    """A question with its human form, the texts that answer it, what came before, and the conversation's place."""

    conversation: int
    raw: str
    human: str
    gold: frozenset[str]
    history: History


class Remembering(Encoder):
    """The bundled encoder, which encodes every text once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, bool], Any] = {}

    def encode(self, texts: Sequence[str], *, question: bool = False, **options: Any) -> Any:
        """Return the vectors of the texts."""
        new = [text for text in dict.fromkeys(texts) if (text, question) not in self._known]
        for text, vector in zip(new, super().encode(new, question=question, **options), strict=True):
            self._known[text, question] = vector
        return np.stack([self._known[text, question] for text in texts])


# ------------------------------------------------------------------ data


def read_cast(file: Path, most: int | None) -> list[Turn]:
    turns = []
    for place, conversation in enumerate(json.loads(file.read_text("utf-8"))[:most]):
        history: History = ()
        for turn in conversation["turn"]:
            raw, human = turn["raw_utterance"].strip(), turn["manual_rewritten_utterance"].strip()
            turns.append(Turn(place, raw, human, frozenset([turn["passage"]]), history))
            history += ((raw, turn["passage"]),)
    return turns


def read_tuning(folder: Path) -> list[Turn]:
    """Return the turns of CAsT 2020 and of every second conversation of 2019; what answers one is its human form."""
    lines = (folder / "cast2019_resolved.tsv").read_text("utf-8").splitlines()
    resolved = dict(line.split("\t", 1) for line in lines)
    turns = []
    conversations = json.loads((folder / "cast2020_manual.json").read_text("utf-8"))
    conversations += json.loads((folder / "cast2019_topics.json").read_text("utf-8"))[::2]
    for place, conversation in enumerate(conversations):
        history: History = ()
        for turn in conversation["turn"]:
            key = f"{conversation['number']}_{turn['number']}"
            raw, human = turn["raw_utterance"].strip(), turn.get("manual_rewritten_utterance") or resolved[key]
            turns.append(Turn(place, raw, human.strip(), frozenset([human.strip()]), history))
            history += ((raw, ""),)
    return turns


def read_mtrag(file: Path) -> list[Turn]:
    turns = []
    for place, row in enumerate(map(json.loads, file.read_text("utf-8").splitlines())):
        said = [entry["text"] for entry in row["input"]]
        history = tuple(zip(said[:-1:2], said[1::2], strict=True))
        if history:
            turns.append(Turn(place, said[-1], said[-1], frozenset(c["text"] for c in row["contexts"]), history))
    return turns


def index_of(turns: Sequence[Turn], encoder: Encoder) -> Index:
    texts = sorted({text for turn in turns for text in turn.gold})
    return Index.in_memory([Passage(text, (Span(str(n), 1, 0, 1),), text) for n, text in enumerate(texts)], encoder)


# ------------------------------------------------------------------ measuring


def reciprocal_ranks(search: Any, turns: Sequence[Turn], ask: Ask) -> list[float]:
    found = []
    for turn in turns:
        hits = search.search(ask(turn), 1000)
        found.append(next((1 / hit.rank for hit in hits if hit.passage.id in turn.gold), 0.0))
    return found


def report(name: str, found: Mapping[str, Sequence[float]], clusters: Sequence[Any]) -> dict[str, Summary]:
    """Print recall@5 and MRR of each system's reciprocal ranks, and what concatenation gains; return recall@5."""
    recall = {system: [float(rank >= 1 / 5) for rank in ranks] for system, ranks in found.items()}

    def shown(values: Sequence[float]) -> str:
        whole = summarise(values, clusters=clusters)
        return f"{whole.mean:.3f} [{whole.low:.3f}, {whole.high:.3f}]"

    print(f"{name}, n {len(clusters)}")
    for system, ranks in found.items():
        print(f"  {system:<24} recall@5 {shown(recall[system])}  MRR {shown(ranks)}", flush=True)
    for measure, values in (("recall@5", recall), ("MRR", found)):
        gained = [a - b for a, b in zip(values["concatenation"], values["raw"], strict=True)]
        print(f"  concatenation - raw: {measure} {shown(gained)}", flush=True)
    return {system: summarise(values, clusters=clusters) for system, values in recall.items()}


def between(turns: Sequence[Turn]) -> list[Turn]:
    """Return the questions in their human form, each after the turns of another conversation."""
    choose = random.Random(0)
    others = [turn for turn in turns if turn.history]
    return [
        Turn(
            t.conversation, t.human, t.human, t.gold,
            choose.choice([o for o in others if o.conversation != t.conversation]).history,
        )
        for t in turns
    ]  # fmt: skip


def table(name: str, turns: Sequence[Turn], systems: Mapping[str, Ask], index: Index) -> dict[tuple[str, str], Summary]:
    """Print what each system finds with each retriever; return recall@5."""
    found = {}
    for retriever in RETRIEVERS:
        search = retrievers.get(retriever)(index)
        ranks = {system: reciprocal_ranks(search, turns, ask) for system, ask in systems.items()}
        means = report(f"\n{name}, {retriever}", ranks, [turn.conversation for turn in turns])
        found |= {(system, retriever): mean for system, mean in means.items()}
    return found


def share(found: Mapping[tuple[str, str], Summary], system: str, retriever: str) -> float:
    """Return how far a system goes on the way from raw to human."""
    raw, human, own = (found[name, retriever].mean or 0.0 for name in ("raw", "human", system))
    return (own - raw) / (human - raw)


# ------------------------------------------------------------------ through the program


def documents(name: str, folder: Path, numbers: str) -> None:
    """Print what the program finds for the follow-ups of a folder's conversations whose numbers end in `numbers`."""
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]
    said: dict[str, History] = {}
    follow_ups = []
    for row in rows:
        conversation = row["id"].rpartition("-")[0]
        history = said.get(conversation, ())
        said[conversation] = (*history, (row["question"], row["answer"] if row["answerable"] else ""))
        if history and row["answerable"] and conversation[-1] in numbers:
            follow_ups.append((conversation, row, history))
    plain = Settings().changed("reading", reader="extractive", refusal="none")
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as workspace, Services.open(Path(workspace), plain) as services:
        for _ in services.documents.ingest(LOCAL_OWNER, sorted(folder.glob("*.pdf"))):
            pass
        for _ in services.indexes.build(LOCAL_OWNER, plain):
            pass
        names = services.documents.filenames(LOCAL_OWNER)
        for system, rewriter in (("raw", "none"), ("concatenation", "concatenation")):
            chosen = plain.changed("conversation", rewriter=rewriter)
            for _, row, history in follow_ups:
                asked = Asked(LOCAL_OWNER, row["question"], chosen, history)
                events = services.answers.answer(asked, threading.Event())
                hits = next(event.hits for event in events if isinstance(event, Retrieved))
                found.setdefault(system, []).append(reciprocal_rank(hits[:5], row, names))
    report(f"\n{name}, five hits", found, [conversation for conversation, _, _ in follow_ups])


def reciprocal_rank(hits: Sequence[Hit], row: Mapping[str, Any], names: Mapping[str, str]) -> float:
    """Return 1 / rank of the hit on the gold page, or with which all words of a right answer have been seen."""
    seen = ""
    for hit in hits:
        seen += f"\n{hit.passage.text}"
        if "page" not in row:
            right = all(re.search(words, seen, re.IGNORECASE | re.MULTILINE) for words in row["must"])
        else:
            right = (row["document"], row["page"]) in {(names[s.document_id], s.page) for s in hit.passage.spans}
        if right:
            return 1 / hit.rank
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} conversations, no model, no MT-RAG")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model", default=Settings().llm.model)
    parser.add_argument("--models-dir", type=Path, default=models_path(Settings().llm))
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--no-llm", action="store_true", help="leave the llm rewriter out")
    chosen = parser.parse_args()
    if not (chosen.data / "cast2021_manual.json").is_file():
        raise SystemExit(f"The conversations are not in {chosen.data}. Give their folder with --data.")
    measure(chosen)


def measure(chosen: argparse.Namespace) -> None:
    encoder = Remembering()
    encode = partial(encoder.encode, question=True)
    turns = read_cast(chosen.data / "cast2021_manual.json", QUICK if chosen.quick else None)
    default = Settings().conversation
    concatenation = Concatenation(turns=default.turns, encode=encode)
    systems: dict[str, Ask] = {
        "raw": lambda turn: turn.raw,
        "concatenation": lambda turn: concatenation.rewrite(turn.raw, turn.history).query,
    }
    own = dict(systems)
    if not chosen.quick and not chosen.no_llm:
        rewritten = ask_model(chosen, turns, encode)
        systems["llm"] = lambda turn: rewritten[turn].query
    systems["  a person in its place"] = lambda turn: by_hand(turn, concatenation).query
    systems["human"] = lambda turn: turn.human
    if not chosen.quick:
        tuning = read_tuning(TUNING)
        asked = [turn for turn in tuning if turn.history]
        table("CAsT 2019, 2020, follow-ups", asked, own, index_of(tuning, encoder))
    index = index_of(turns, encoder)
    found = table("CAsT 2021", turns, systems, index)
    table("CAsT 2021, between", between(turns), own, index)
    if not chosen.quick:
        asked = read_mtrag(chosen.data / "mtrag_un_reference.jsonl")
        with_gold = [turn for turn in asked if turn.gold]
        table("MT-RAG", with_gold, own, index_of(with_gold, encoder))
        documents("everyday", ROOT / "benchmarks" / "everyday", "0123456789")
        documents("strangers, odd", chosen.data.parent / "strangers", "13579")
    print()
    for name in systems:
        if name not in ("raw", "human"):
            ways = ", ".join(f"{retriever} {share(found, name, retriever):.2f}" for retriever in RETRIEVERS)
            print(f"of the way from raw to human, {name.strip()}: {ways}")
    rewriter, retriever = default.rewriter, Settings().retrieval.retriever
    print(
        f"(recall@5 of {rewriter} - raw) / (human - raw), {retriever}, {len(turns)} turns: "
        f"{share(found, rewriter, retriever):.2f}"
    )


def ask_model(chosen: argparse.Namespace, turns: Sequence[Turn], encode: Any) -> dict[Turn, Rewritten]:
    """Return what the llm rewriter makes of every turn; prints how often it fell back, and why."""
    file = resolve(chosen.model, chosen.models_dir)
    llm = LlamaCpp(file, name=chosen.model, threads=chosen.threads)
    rewriter = LLMRewriter(llm, turns=Settings().conversation.turns, encode=encode)
    since = time.perf_counter()
    made = {turn: rewriter.rewrite(turn.raw, turn.history) for turn in turns}
    seconds = time.perf_counter() - since
    asked = [turn for turn in turns if turn.history]
    fell_back = [made[turn].note for turn in asked if made[turn].note]
    alone = sum(not made[turn].note and made[turn].question == turn.raw for turn in asked)
    print(
        f"llm ({chosen.model}): {len(asked)} follow-ups; rewritten {len(asked) - alone - len(fell_back)}, left as they "
        f"were {alone}, fell back {len(fell_back)} ({len(fell_back) / len(asked):.0%}); "
        f"{seconds / len(asked):.1f} s per follow-up"
    )
    why = Counter(reason(note) for note in fell_back).most_common()
    print("  why: " + (", ".join(f"{verb} {count}" for verb, count in why) or "none"))
    return made


def by_hand(turn: Turn, rewriter: Concatenation) -> Rewritten:
    """Return what the llm rewriter would make of a model that rewrites questions as a person did."""
    made = rewriter.rewrite(turn.raw, turn.history)
    return beside(made, turn.human) if turn.history and turn.human != turn.raw else made


def reason(note: str) -> str:
    """Return the verb of a note's reason ("lacks", "adds", …)."""
    return note.split("rewriting ", 1)[-1].split(" ", 1)[0].rstrip(".")


if __name__ == "__main__":
    main()
