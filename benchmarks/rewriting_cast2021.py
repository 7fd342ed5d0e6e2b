"""How much of what a person's rewriting of follow-up questions gains in retrieval each rewriter gains.

TREC CAsT 2021: every turn's question as it was typed (raw), with each rewriter, and as a person rewrote it (human),
searched among the gold passages of all turns; "a person in its place" is the llm rewriter, if its model wrote what the
person did. The history of a turn are the raw questions before it, with the passages
that the conversation showed for them as the answers. MRR with its 95 % bootstrap interval; then for the halves of the
conversations with even and odd places (the weights of `concatenation` were searched for on the even ones and picked
with all results in view, so neither half is untouched; the odd one is the more cautious estimate). "between": the
human form of each question put after the turns of another conversation, where nothing is to be gained and what is lost
shows a search polluted by its history. Then how often a new topic is recognised: the next turn of a conversation
against the opening question, and any human form, of another. The same for MT-RAG, which has no human rewritings: its
tasks with gold passages, from their second turn on.

Settings of the llm rewriter are chosen on CAsT 2019 (every second conversation) and 2020, whose passages are not here:
the follow-ups search for their own human form among all human forms, an easy task for the question as typed.

The model's replies are kept in a file (--keep); a run that was interrupted goes on. Last line: the share of the way
from raw to human that the default rewriter goes with the default retriever.

    python benchmarks/rewriting_cast2021.py [--quick] [--keep FOLDER] [--minutes M] [--model NAME_OR_PATH] [--no-llm]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from pdfqa_core.conversation import Concatenation, LLMRewriter  # noqa: E402
from pdfqa_core.conversation.llm import CHOSEN_NOTE, beside  # noqa: E402
from pdfqa_core.conversation.relation import Relation, relation  # noqa: E402
from pdfqa_core.interfaces import GREEDY, LLM, Message, Sampling, StopSignal, Stream, Usage  # noqa: E402
from pdfqa_core.metrics.statistics import Summary, summarise  # noqa: E402
from pdfqa_core.retrieval import Encoder, Index, retrievers  # noqa: E402
from pdfqa_core.settings import Settings  # noqa: E402
from pdfqa_core.settings_sources import models_path  # noqa: E402
from pdfqa_core.streaming import complete  # noqa: E402
from pdfqa_core.types import Passage, Progress, Query, Rewritten, Span  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "conversations"
TUNING = DATA.parent / "rewriting"
KEEP = ROOT / "data" / "benchmarks"
RETRIEVERS = ("hybrid", "bm25", "dense")
QUICK = 4  # conversations
CHOSEN = CHOSEN_NOTE.split("{", 1)[0]

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


class Kept:
    """A language model whose replies are written to a file and read from there the next time.

    Ends the program when `until` (time.monotonic) is reached.
    """

    parallel = 1

    def __init__(self, file: Path, load: Callable[[], LLM], until: float) -> None:
        self.name, self.file, self.until = file.stem, file, until
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        self.replies: dict[str, dict[str, Any]] = {row["key"]: row for row in map(json.loads, lines)}
        self.used: dict[str, dict[str, Any]] = {}
        self.load, self._llm = load, None

    @property
    def llm(self) -> Any:
        """The model, loaded when it is first needed."""
        self._llm = self._llm or self.load()
        return self._llm

    @property
    def context_size(self) -> int:
        """The context of the settings."""
        return int(Settings().llm.context_size)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of a prompt; of one that was answered before 0."""
        return 0 if _key(messages) in self.replies else int(self.llm.count_tokens(messages))

    def prepare(self, stop: StopSignal | None = None) -> Iterator[Progress]:
        """Load nothing before it is needed."""
        return iter(())

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None, sampling: Sampling = GREEDY,
    ) -> Stream:  # fmt: skip
        """Yield the first line of the reply."""
        key = _key(messages, schema)
        if key not in self.replies:
            if time.monotonic() > self.until:
                sys.exit("Not finished: run it again with the same --keep.")
            began, text = time.perf_counter(), ""
            for piece in complete(self.llm, messages, max_tokens=max_tokens, schema=schema):
                text += piece
                if "\n" in text.strip():
                    break
            row = {"key": key, "reply": text, "seconds": time.perf_counter() - began}
            self.replies[key] = row
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        self.used[key] = self.replies[key]
        yield self.replies[key]["reply"]
        yield Usage()

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the model's choice."""
        return dict(self.llm.choose(messages, choices, stop=stop))


def _key(messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> str:
    asked = "\n".join(f"{m.role}: {m.content}" for m in messages) + json.dumps(schema)
    return hashlib.sha256(asked.encode()).hexdigest()[:24]


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
    """Print MRR by system and retriever; return it."""
    searches = {retriever: retrievers.get(retriever)(index) for retriever in RETRIEVERS}
    print(f"\n{name}: {len(turns)} turns, {len(index.passages)} passages. MRR [95 % interval], then even / odd half")
    found = {}
    for system, ask in systems.items():
        cells = []
        for retriever, search in searches.items():
            values = reciprocal_ranks(search, turns, ask)
            found[system, retriever] = whole = summarise(values, clusters=[turn.conversation for turn in turns])
            halves = [
                summarise([v for v, turn in zip(values, turns, strict=True) if turn.conversation % 2 == half]).mean
                for half in (0, 1)
            ]
            cells.append(f"{whole.mean:.3f} [{whole.low:.3f}, {whole.high:.3f}] {halves[0]:.3f}/{halves[1]:.3f}")
        print(f"  {system:<24}" + "  ".join(f"{r}: {c}" for r, c in zip(searches, cells, strict=True)), flush=True)
    return found


def share(found: Mapping[tuple[str, str], Summary], system: str, retriever: str) -> float:
    """Return how far a system goes on the way from raw to human."""
    raw, human, own = (found[name, retriever].mean or 0.0 for name in ("raw", "human", system))
    return (own - raw) / (human - raw)


def new_topics(name: str, turns: Sequence[Turn], encode: Any, forms: Mapping[str, Callable[[Turn], str]]) -> None:
    """Print how often turns of a conversation, and questions of others put in between, are taken for new topics."""
    choose = random.Random(0)
    kept = Settings().conversation.turns
    for kind, judge in (("embeddings", encode), ("words alone", None)):
        rates = Counter[str]()
        asked = [turn for turn in turns if turn.history]
        for turn in asked:
            past = turn.history[-kept:]
            other = choose.choice([t for t in turns if t.conversation != turn.conversation])
            questions = {"next turn": turn.raw, **{form: text(other) for form, text in forms.items()}}
            for form, question in questions.items():
                rates[form] += relation(question, past, encode=judge) is Relation.NEW_TOPIC
        wrong = rates["next turn"] / len(asked)
        right = sum(rates[form] for form in forms) / len(forms) / len(asked)
        by_form = ", ".join(f"{form} {rates[form] / len(asked):.2f}" for form in forms)
        print(
            f"{name}, new topic by {kind}: next turn of the conversation {wrong:.2f}; of another: {by_form}; "
            f"balanced accuracy {(1 - wrong + right) / 2:.2f}"
        )


def opening(turn: Turn) -> str:
    return turn.history[0][0] if turn.history else turn.raw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} conversations, no model, no MT-RAG")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--keep", type=Path, default=KEEP, help="folder for the model's replies")
    parser.add_argument("--minutes", type=float, default=0, help="end after so many; go on with the same --keep")
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
    with_meaning = Concatenation(turns=default.turns, encode=encode, new_topic=default.new_topic)
    by_words = Concatenation(turns=default.turns)
    systems: dict[str, Ask] = {
        "raw": lambda turn: turn.raw,
        "concatenation": lambda turn: with_meaning.rewrite(turn.raw, turn.history).query,
        "  new topic by words": lambda turn: by_words.rewrite(turn.raw, turn.history).query,
    }
    rewritten: dict[Turn, Rewritten] = {}
    if not chosen.quick and not chosen.no_llm:
        rewritten = ask_model(chosen, turns, encode)
        systems["llm"] = lambda turn: rewritten[turn].query
    systems["  a person in its place"] = lambda turn: by_hand(turn, with_meaning, encode).query
    systems["human"] = lambda turn: turn.human
    if rewritten:
        tuning = read_tuning(TUNING)
        asked = [turn for turn in tuning if turn.history and relation_of(turn, encode) is Relation.FOLLOW_UP]
        rewritten |= ask_model(chosen, asked, encode)
        table("CAsT 2019, 2020, follow-ups", asked, systems, index_of(tuning, encoder))
    index = index_of(turns, encoder)
    found = table("CAsT 2021", turns, systems, index)
    mixed = between(turns)
    table("CAsT 2021, between", mixed, {name: systems[name] for name in ("raw", "concatenation")}, index)
    new_topics("CAsT 2021", turns, encode, {"opening": opening, "any, human": lambda turn: turn.human})
    if not chosen.quick:
        asked = read_mtrag(chosen.data / "mtrag_un_reference.jsonl")
        with_gold = [turn for turn in asked if turn.gold]
        table("MT-RAG", with_gold, {name: systems[name] for name in list(systems)[:3]}, index_of(with_gold, encoder))
        new_topics("MT-RAG", asked, encode, {"opening": opening})
    print()
    for name in systems:
        if name not in ("raw", "human"):
            ways = ", ".join(f"{retriever} {share(found, name, retriever):.2f}" for retriever in RETRIEVERS)
            print(f"of the way from raw to human, {name.strip()}: {ways}")
    rewriter, retriever = default.rewriter, Settings().retrieval.retriever
    print(
        f"(MRR of {rewriter} - raw) / (human - raw), {retriever}, {len(turns)} turns: "
        f"{share(found, rewriter, retriever):.2f}"
    )


def ask_model(chosen: argparse.Namespace, turns: Sequence[Turn], encode: Any) -> dict[Turn, Rewritten]:
    """Return what the llm rewriter makes of every turn; prints how often it fell back, and why."""

    def load() -> LLM:
        from pdfqa_core.llm import LlamaCpp
        from pdfqa_core.llm.catalogue import resolve

        return LlamaCpp(resolve(chosen.model, chosen.models_dir), name=chosen.model, threads=chosen.threads)

    chosen.keep.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * chosen.minutes if chosen.minutes else float("inf")
    llm = Kept(chosen.keep / f"rewriting-{Path(chosen.model).stem}.jsonl", load, until)
    rewriter = LLMRewriter(llm, turns=Settings().conversation.turns, encode=encode)
    made = {turn: rewriter.rewrite(turn.raw, turn.history) for turn in turns}
    asked = [turn for turn in turns if turn.history and relation_of(turn, encode) is Relation.FOLLOW_UP]
    notes = [made[turn].note for turn in asked]
    picked = sum(note.startswith(CHOSEN) for note in notes)
    fell_back = [note for note in notes if note and not note.startswith(CHOSEN)]
    seconds = sum(row["seconds"] for row in llm.used.values())
    print(
        f"llm ({chosen.model}): {len(asked)} of {len(turns)} turns are follow-ups; written by the model "
        f"{notes.count('')}, chosen by it {picked}, fell back {len(fell_back)} ({len(fell_back) / len(asked):.0%}); "
        f"{seconds / len(asked):.1f} s per follow-up"
    )
    why = Counter(reason(note) for note in notes if note).most_common()
    print("  why what it wrote was not used: " + ", ".join(f"{verb} {count}" for verb, count in why))
    why = Counter(reason(note) for note in fell_back).most_common()
    print("  of these fell back: " + (", ".join(f"{verb} {count}" for verb, count in why) or "none"))
    return made


def by_hand(turn: Turn, rewriter: Concatenation, encode: Any) -> Rewritten:
    """Return what the llm rewriter would make of a model that rewrites follow-ups as a person did."""
    made = rewriter.rewrite(turn.raw, turn.history)
    follow_up = turn.history and relation_of(turn, encode) is Relation.FOLLOW_UP
    return beside(made, turn.human) if follow_up else made


def relation_of(turn: Turn, encode: Any) -> Relation:
    default = Settings().conversation
    return relation(turn.raw, turn.history[-default.turns :], encode=encode, new_topic=default.new_topic)


def reason(note: str) -> str:
    """Return the verb of a note's reason ("lacks", "adds", …)."""
    return note.split("rewriting ", 1)[-1].split(" ", 1)[0].rstrip(".")


if __name__ == "__main__":
    main()
