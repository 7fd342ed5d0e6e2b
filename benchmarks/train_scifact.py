"""Retrievers fine-tuned on questions that the language model makes of SciFact's abstracts: nDCG@10 before and after.

No claim of a person is trained on. Questions are made of abstracts drawn by chance (zero-shot), looked over by the
guards, and kept where the hybrid finds the abstract among its first 5; with --questions they are kept in a file, and a
run that was stopped goes on there. Measured on the 300 validation claims against 5,183 abstracts, as
retrieval_scifact.py does. Baseline: the same retrieval with the model that training started from.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from northwind import ROOT
from retrieval_scifact import load
from training import FORMS, QUICK, options, settings_of, told

from pdfqa_core.evaluation_types import GoldItem, ScoredItem
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import resolve
from pdfqa_core.metrics.statistics import paired_difference, summarise
from pdfqa_core.models import Encoders, graphs_path
from pdfqa_core.protocols.retrieval import run_system
from pdfqa_core.retrieval import Index, index_text, make_retriever
from pdfqa_core.retrieval.base import Searcher
from pdfqa_core.settings import LLMSettings, RetrievalSettings, models_path
from pdfqa_core.synthesis import Generator, objection
from pdfqa_core.training import (
    BI_ENCODER,
    TRAINEES,
    Checkpoint,
    Pair,
    State,
    TrainingData,
    TrainingSettings,
    distractors,
    mine,
    said,
    split_by_documents,
    train_in_rounds,
)
from pdfqa_core.types import Passage

DATA = ROOT.parent / "shared" / "data" / "scifact"
AMONG, FOUND = 20, 5  # hard negatives are among so many hits; a question's abstract must be among so many
MEASURE = "nDCG@10"


def questions(corpus: Sequence[Passage], count: int, file: Path, deadline: float) -> Iterator[tuple[Passage, str]]:
    """Yield a question of each of `count` abstracts drawn by chance: those of the file, then new ones until `deadline`.

    `deadline` is a time of `time.monotonic`. New ones are added to the file before they are yielded.
    """
    drawn = random.Random("scifact 0").sample(list(corpus), min(count, len(corpus)))
    known = {}
    if file.is_file():
        known = {row["id"]: row["question"] for row in map(json.loads, file.read_text("utf-8").splitlines())}
    chosen = LLMSettings()
    asker = None
    for passage in drawn:
        if passage.id not in known:
            if time.monotonic() > deadline:
                continue
            if asker is None:
                llm = LlamaCpp(resolve(chosen.model, models_path(chosen)), name=chosen.model, threads=chosen.threads)
                asker = Generator(llm)
            known[passage.id] = next(asker.questions(passage.text, 1, 0), "")
            with file.open("a", encoding="utf-8") as end:
                end.write(json.dumps({"id": passage.id, "question": known[passage.id]}) + "\n")
        yield passage, known[passage.id]


def usable(asked: Sequence[tuple[Passage, str]], retriever: Searcher) -> list[Pair]:
    """Return the questions that no guard objects to and whose abstract the retriever finds."""
    pairs = []
    for passage, question in asked:
        if objection(question, passage.text) is None:
            hits = retriever.search(question, FOUND)
            if any(hit.passage.id == passage.id for hit in hits):
                pairs.append(Pair(passage.id, question, passage))
    return pairs


def trained(kind: str, data: TrainingData, settings: TrainingSettings, folder: Path) -> None:
    """Train a model of the bundled encoder and write it into a folder, telling what happens."""
    trainee = TRAINEES[kind].load("")
    events = train_in_rounds(
        trainee, data, settings, Checkpoint(folder.with_name(f"{kind}-state")), kind, index_text, threading.Event()
    )  # fmt: skip
    began = time.monotonic()
    print(f"{kind}: {len(data.examples)} questions, {len(data.held_out)} held out", flush=True)
    told(kind, (event for event in events if not isinstance(event, State)), began)
    trainee.save(folder)


def scores(corpus: Sequence[Passage], items: Sequence[GoldItem], parameters: dict[str, str]) -> list[float | None]:
    """Return nDCG@10 of each claim."""
    models = Encoders.with_graphs(graphs_path(LLMSettings()))
    recipe = RetrievalSettings(**parameters, exact_below=100_000, embedding_precision="exact")
    index = Index.in_memory(list(corpus), models.encoder(recipe.embedding_model, recipe.embedding_precision))
    retriever = make_retriever(index, recipe.model_dump(), models)
    retriever.prepare()
    results = list(run_system("", items, lambda item, k: retriever.search(item.question.text, k), measures=[MEASURE]))
    found: list[ScoredItem] = [item for item, _ in results[-1]]  # type: ignore[union-attr]
    return [item.metrics[MEASURE] for item in found]


def arguments() -> argparse.Namespace:
    parser = options(__doc__.splitlines()[0])
    parser.set_defaults(data=DATA)
    parser.add_argument("--abstracts", type=int, default=1000, help="that questions are made of")
    parser.add_argument("--questions", type=Path, help="file (JSON lines) that keeps the questions")
    parser.add_argument("--minutes", type=float, default=60, help="after which no more questions are made")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    if not (chosen.data / "scifact.zip").is_file():
        raise SystemExit(f"There is no scifact.zip in {chosen.data}. Give its folder with --data.")
    corpus, items = load(chosen.data / "scifact.zip")
    training = settings_of(chosen)
    if chosen.quick:
        print(f"--quick: 120 abstracts and {2 * QUICK.steps} steps: too few to learn anything")
        gold = {document for item in items[:20] for document, _ in item.gold_pages}
        corpus = [one for place, one in enumerate(corpus) if one.document_id in gold or place < 100]
        items, training, chosen.abstracts = items[:20], QUICK, 30
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file = chosen.questions or folder / "questions.jsonl"
        asked = list(questions(corpus, chosen.abstracts, file, time.monotonic() + 60 * chosen.minutes))
        models = Encoders.with_graphs(graphs_path(LLMSettings()))
        recipe = RetrievalSettings(retriever="hybrid", exact_below=100_000)
        hybrid = make_retriever(Index.in_memory(list(corpus), models.encoder()), recipe.model_dump(), models)
        hybrid.prepare()
        pairs = usable(asked, hybrid)
        print(f"{len(asked)} questions, {len(pairs)} of use", flush=True)
        split = split_by_documents(pairs, corpus, 0.2, training.seed)
        ids = {one.id for one in split.training_passages}
        examples = tuple(mine(pair, hybrid.search(pair.question, 100), AMONG, ids) for pair in split.training)
        unseen = (mine(pair, hybrid.search(pair.question, 100), AMONG, ids) for pair in split.held_out)
        data = TrainingData(
            examples, split.training_passages, split.held_out, split.held_out_passages, AMONG,
            distractors(unseen, training.k),
        )  # fmt: skip
        ratios = {}
        for kind in chosen.models:
            trained(kind, data, training, folder / kind)
            setting = "embedding_model" if kind == BI_ENCODER else "late_model"
            for form, parameters in FORMS[kind].items():
                before = scores(corpus, items, parameters)
                after = scores(corpus, items, {**parameters, setting: str(folder / kind)})
                old, new = summarise(before), summarise(after)
                gain = said(paired_difference(after, before), sign=True)
                print(f"  {form:<16} {MEASURE} {said(old)} -> {said(new)}, difference {gain}", flush=True)
                ratios[form] = (new.mean or 0.0) / (old.mean or 1.0)
    for form, ratio in ratios.items():
        print(f"nDCG@10 of {form}, fine-tuned / untouched: {ratio:.3f}")


if __name__ == "__main__":
    main()
