"""Examples to train the default model's adapter with (adapter_train.py), as token numbers in a JSONL file.

Prompts are the program's own, made of what its search finds. Tasks: `answerable` (do the passages answer?), `is_it_so`
(yes-or-no questions), `true` (does the text say so?), `answer` (people's answers), `hinted` (a prompt that tells the
gold answer, and the same without it: the model's own sentence of the first becomes the reply to the second).

Data: CLAPnq, MT-RAG, PubMedQA, CovidQA, TAT-QA, SciFact (Apache-2.0, MIT, CC BY 4.0; ../shared/data). Left out is what
the adapter is measured on: all of Northwind, the filings and the sample; of CLAPnq and PubMedQA the questions that
refusal.py and answers.py draw, of PubMedQA the official test questions too; of MT-RAG every conversation of which
refusal.py draws a turn; of CovidQA and TAT-QA every second article and report; of verdict_pairs.py all but the even
sources; of SciFact the validation claims.

    python benchmarks/adapter_data.py OUT.jsonl [--sets A,B] [--most N] [--statements N]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from northwind import DATA
from refusal_data import SHARED, Search, one_page, tells_results
from retrieval_scifact import load, table
from verdict_pairs import pairs, tidy
from verdict_questions import markdown, table_of
from yes_or_no import SCIFACT

from pdfqa_core.conversation import Concatenation
from pdfqa_core.interfaces import Message
from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import DEFAULT, resolve
from pdfqa_core.llm.llama_cpp import _tokenize
from pdfqa_core.models import graphs_path
from pdfqa_core.reading import Checker, GenerativeReader, Meaning
from pdfqa_core.reading.answerability import CAN_ANSWER
from pdfqa_core.reading.prompts import FORMS, IS_IT_SO, IS_TRUE, PASSAGE, quoted
from pdfqa_core.retrieval import Encoder
from pdfqa_core.settings import LLMSettings
from pdfqa_core.settings_sources import models_path
from pdfqa_core.text import content_terms, terms
from pdfqa_core.types import Hit, Passage, Span

DRAWN = (40, 60, 100)  # of each kind that refusal.py draws
ANSWERS_CLAPNQ = 120  # that answers.py draws
READ = 4
TOKENS = (430, 430, 430, 650)  # of the evidence


@dataclass(frozen=True)
class Asked:
    """A question with its hits: whether they answer it (None: not said), a person's answer, a short gold answer."""

    data: str
    question: str
    hits: tuple[Hit, ...]
    answerable: bool | None
    written: str = ""
    gold: str = ""
    history: tuple[tuple[str, str], ...] = ()
    yes: bool | None = None


def ranked(hits: Sequence[Hit], count: int = 10) -> tuple[Hit, ...]:
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:count], 1))


def without(hits: Sequence[Hit], documents: set[str]) -> tuple[Hit, ...]:
    return ranked([hit for hit in hits if hit.passage.document_id not in documents])


def holds(hits: Sequence[Hit], gold: str) -> bool:
    """Whether one of the passages read has a gold answer's words, in their order."""
    wanted = " ".join(terms(gold))
    return any(f" {wanted} " in f" {' '.join(terms(hit.passage.text))} " for hit in hits[:READ])


def close(answer: str, hits: Sequence[Hit]) -> bool:
    """Whether most of an answer's words stand in the passages read."""
    wanted = content_terms(answer)
    known = set(terms(" ".join(hit.passage.text for hit in hits[:READ])))
    return len(wanted) >= 3 and sum(word in known for word in wanted) >= 0.75 * len(wanted)


def clapnq_held(rows: Sequence[tuple[str, str, str]]) -> set[str]:
    """Return the questions that are kept apart of (question, document, answer)."""
    answered = [row for row in rows if row[2]]
    held = {answered[n][0] for n in random.Random(0).sample(range(len(answered)), ANSWERS_CLAPNQ)}
    for per in DRAWN:  # as refusal_data.clapnq draws
        again = random.Random(0)
        for kind in ("answerable ", "unanswerable "):
            held |= {row[0] for row in again.sample([r for r in rows if r[1].startswith(kind)], per)}
    return held


def mtrag_held(tasks: Sequence[dict[str, Any]]) -> set[str]:
    """Return the conversations that are kept apart."""
    held = set()
    for per in DRAWN[:2]:  # as refusal_data.mtrag draws
        again = random.Random(0)
        for label in ("ANSWERABLE", "UNANSWERABLE"):
            fit = [t for t in tasks if t["answerability"] == [label] and "Non-Question" not in t["Question Type"]]
            held |= {task["conversation_id"] for task in again.sample(fit, min(per, len(fit)))}
    return held


def unused(shared: Path) -> set[str]:
    """Return the questions of CLAPnq and the last ones of MT-RAG's turns of which nothing is among the examples."""
    rows = [
        (row["input"], f"{name} {row['id']}", row["output"][0]["answer"].strip())
        for name in ("answerable", "unanswerable")
        for row in map(json.loads, (shared / "clapnq" / f"dev_{name}.jsonl").read_text("utf-8").splitlines())
    ]
    tasks = [json.loads(line) for line in (shared / "conversations/mtrag_un_reference.jsonl").open(encoding="utf-8")]
    held = mtrag_held(tasks)
    used = {task["input"][-1]["text"] for task in tasks if task["conversation_id"] not in held}
    return clapnq_held(rows) | ({task["input"][-1]["text"] for task in tasks} - used)


def clapnq(encoder: Encoder, meaning: Meaning, rng: random.Random) -> Iterator[Asked]:
    made, rows = [], []
    for name in ("answerable", "unanswerable"):
        for line in (SHARED / "clapnq" / f"dev_{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            (passage,) = row["passages"]
            document_id = f"{name} {row['id']}"
            made += one_page(document_id, passage["text"], passage["title"])
            rows.append((row["input"], document_id, row["output"][0]["answer"].strip()))
    search = Search(made, meaning)
    held = clapnq_held(rows)
    for question, document_id, answer in rows:
        if question in held:
            continue
        hits = search(question, 40)
        if not answer:
            yield Asked("clapnq", question, ranked(hits), False)
            continue
        if document_id in {hit.passage.document_id for hit in hits[:READ]}:
            written = tidy(answer) if len(answer.split()) <= 90 else ""
            yield Asked("clapnq", question, ranked(hits), True, written)
        yield Asked("clapnq", question, without(hits, {document_id}), False)


def mtrag(encoder: Encoder, meaning: Meaning, rng: random.Random) -> Iterator[Asked]:
    tasks = [json.loads(line) for line in (SHARED / "conversations/mtrag_un_reference.jsonl").open(encoding="utf-8")]
    texts = {context["document_id"]: context["text"].strip() for task in tasks for context in task["contexts"]}
    search = Search([passage for key, text in texts.items() for passage in one_page(key, text)], meaning)
    rewriter = Concatenation(encode=lambda asked: encoder.encode(asked, question=True))
    held = mtrag_held(tasks)
    for task in tasks:
        if task["conversation_id"] in held or "Non-Question" in task["Question Type"]:
            continue
        said = [turn["text"] for turn in task["input"]]
        history = list(zip(said[:-1:2], said[1:-1:2], strict=False))
        rewritten = rewriter.rewrite(said[-1], history)
        hits = search(rewritten.query, 40)
        gold = {context["document_id"] for context in task["contexts"]}
        question, before = (rewritten.question, ()) if rng.random() < 0.6 else (said[-1], tuple(history[-1:]))
        if task["answerability"] == ["UNANSWERABLE"]:
            yield Asked("mtrag", question, ranked(hits), False, history=before)
        elif task["answerability"] == ["ANSWERABLE"]:
            if gold & {hit.passage.document_id for hit in hits[:READ]}:
                written = task["targets"][0]["text"].strip()
                fit = len(written.split()) <= 90 and "\n" not in written and close(written, hits)
                yield Asked("mtrag", question, ranked(hits), True, written if fit else "", history=before)
            yield Asked("mtrag", question, without(hits, gold), False, history=before)


def pubmedqa(encoder: Encoder, meaning: Meaning, rng: random.Random) -> Iterator[Asked]:
    data = json.loads((SHARED / "pubmedqa/ori_pqal.json").read_text("utf-8"))
    test = set(json.loads((SHARED / "pubmedqa/test_ground_truth.json").read_text("utf-8")))
    whole = {key: "\n\n".join(row["CONTEXTS"]) for key, row in data.items()}
    search = Search([passage for key, text in whole.items() for passage in one_page(key, text)], meaning)
    keys = [
        k for k, row in data.items() if row["final_decision"] != "maybe" and any("RESULT" in x for x in row["LABELS"])
    ]
    random.Random(0).shuffle(keys)
    held = test | set(keys[: 2 * max(DRAWN)])  # as refusal_data.pubmedqa draws
    for key, row in data.items():
        if key in held:
            continue
        question, turn = row["QUESTION"], rng.random()
        clear = row["final_decision"] != "maybe" and any("RESULT" in label for label in row["LABELS"])
        yes = row["final_decision"] == "yes" if row["final_decision"] != "maybe" else None
        if not clear:
            continue
        own = ranked([Hit(p, 1.0, 1, "all") for p in one_page(key, whole[key])])
        concluded = one_page(key, f"{whole[key]}\n\n{row['LONG_ANSWER']}")
        yield Asked("pubmedqa", question, ranked([Hit(p, 1.0, 1, "all") for p in concluded]), None, yes=yes)
        if turn < 0.5:
            hits = search(question, 20)
            if key in {hit.passage.document_id for hit in hits[:READ]}:
                own = ranked(hits)
            other = without(hits, {key})
            yield Asked("pubmedqa", question, other, False)
        else:
            parts = zip(row["LABELS"], row["CONTEXTS"], strict=True)
            text = "\n\n".join(part for label, part in parts if not tells_results(label))
            if text:
                yield Asked("pubmedqa", question, ranked([Hit(p, 1.0, 1, "all") for p in one_page(key, text)]), False)
        yield Asked("pubmedqa", question, own, True, yes=yes)


def covidqa(encoder: Encoder, meaning: Meaning, rng: random.Random) -> Iterator[Asked]:
    articles = json.loads((SHARED / "covidqa/200423_covidQA.json").read_text("utf-8"))["data"][::2]
    made, rows = [], []
    for number, article in enumerate(articles):
        for paragraph in article["paragraphs"]:
            made += one_page(f"{number}", paragraph["context"], paragraph["context"].split("\n", 1)[0])
            rows += [(str(number), qa["question"].strip(), qa["answers"][0]["text"].strip()) for qa in paragraph["qas"]]
    search = Search(made, meaning)
    rng.shuffle(rows)
    for document_id, question, gold in rows[:700]:
        hits = search(question, 30)
        if holds(hits, gold):
            yield Asked("covidqa", question, ranked(hits), True, gold=gold)
            left = [hit for hit in hits if not holds([hit], gold)]
            if rng.random() < 0.5 and len(gold.split()) > 1:
                yield Asked("covidqa", question, without(left, {document_id}) or ranked(left), False)
        elif document_id not in {hit.passage.document_id for hit in hits[:READ]}:
            yield Asked("covidqa", question, ranked(hits), False)


YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def tatqa(encoder: Encoder, meaning: Meaning, rng: random.Random) -> Iterator[Asked]:
    reports = json.loads((SHARED / "tatqa/tatqa_dataset_dev.json").read_text("utf-8"))[::2]
    texts, rows = {}, []
    for row in reports:
        grid = table_of(row["table"]["table"])
        if grid is None or len(grid) > 24:
            continue
        key = row["table"]["uid"]
        paragraphs = [p["text"] for p in sorted(row["paragraphs"], key=lambda p: p["order"])]
        texts[key] = "\n\n".join([*paragraphs[:4], markdown(grid), *paragraphs[4:]])
        rows += [(key, qa) for qa in row["questions"]]
    search = Search([passage for key, text in texts.items() for passage in one_page(key, text)], meaning)
    for key, qa in rows:
        answers = qa["answer"] if isinstance(qa["answer"], list) else [qa["answer"]]
        question = qa["question"]
        own = ranked([Hit(p, 1.0, 1, "all") for p in one_page(key, texts[key])])
        among = search(question, 30)
        turn = rng.random()
        hits = ranked(among) if key in {h.passage.document_id for h in among[:READ]} and turn < 0.6 else own
        if qa["answer_type"] in ("span", "multi-span") and all(holds(hits, str(a)) for a in answers):
            short = "; ".join(map(str, answers))
            gold = short if qa["answer_type"] == "span" else ""
            yield Asked("tatqa", question, hits, True, gold=gold)
            years = YEAR.findall(question)
            strange = [str(y) for y in range(2008, 2026) if str(y) not in texts[key]]
            if years and strange and turn < 0.7:
                yield Asked("tatqa", question.replace(rng.choice(years), rng.choice(strange)), own, False)
            else:  # its report without what answers it: another company's table would seem to
                left = [hit for hit in own if not any(holds([hit], str(a)) for a in answers)]
                yield Asked("tatqa", question, ranked(left), False)


def scifact(encoder: Encoder, meaning: Meaning, rng: random.Random) -> Iterator[Asked]:
    corpus, _ = load(SCIFACT)
    texts = {passage.document_id: passage.text for passage in corpus}
    with zipfile.ZipFile(SCIFACT) as archive:
        rows = [row for row in table(archive, "claims_train.csv") if row["evidence_label"]]
    rng.shuffle(rows)
    for row in rows[:360]:
        text = texts[row["evidence_doc_id"]]
        hits = (Hit(Passage("p", (Span("doc", 1, 0, len(text)),), text), 1.0, 1, ""),)
        question = f"Is it true that {row['claim'].rstrip('.')}?"
        yield Asked("scifact", question, hits, None, yes=row["evidence_label"] == "SUPPORT")
        if rng.random() < 0.3:
            yield Asked("scifact", question, hits, True)


SETS = {"clapnq": clapnq, "mtrag": mtrag, "pubmedqa": pubmedqa, "covidqa": covidqa, "tatqa": tatqa, "scifact": scifact}


class Writer:
    """Writes examples as the model's tokens."""

    def __init__(self, llm: LlamaCpp, reader: GenerativeReader, out: Path) -> None:
        llm.load()
        self.native, self.template = llm._ready()
        self.reader, self.out = reader, out.open("w", encoding="utf-8")
        self.end = self.native.tokenize("<|im_end|>", add_special=False)

    def tokens(self, messages: Sequence[Message], reply: str = "") -> list[int]:
        """Return the tokens of a prompt, and of the reply to it."""
        if not reply:
            return _tokenize(self.native, self.template.render(messages))
        return _tokenize(self.native, self.template.render_reply(messages, reply))

    def put(self, task: str, data: str, messages: Sequence[Message], reply: str, **more: object) -> None:
        """Write an example."""
        prompt = self.tokens(messages)
        row: dict[str, object] = {"task": task, "data": data, "prompt": prompt, **more}
        if reply:
            whole = self.tokens(messages, reply)
            assert whole[: len(prompt)] == prompt, "the prompt is the beginning of prompt and reply"
            row["reply"] = whole[len(prompt) :] + (self.end if task == "answer" else [])
        self.out.write(json.dumps(row) + "\n")

    def write(self, asked: Asked, rng: random.Random) -> None:
        """Write what can be learned of a question."""
        if not asked.hits:
            return
        reader = self.reader
        reader.prompt_tokens = rng.choice(TOKENS)
        evidence = reader.fitting(asked.question, asked.hits, asked.history)
        shown = f" {' '.join(terms(' '.join(evidence.texts())))} "
        own = reader.messages(asked.question, evidence, asked.history)
        there = all(f" {' '.join(terms(part))} " in shown for part in asked.gold.split("; ") if part)
        if asked.answerable is not None and (there or not asked.answerable):
            prompt = reader.prompt(asked.question, evidence, asked.history, CAN_ANSWER)
            self.put("answerable", asked.data, prompt, "Yes" if asked.answerable else "No")
        if asked.yes is not None:
            prompt = reader.prompt(asked.question, evidence, asked.history, IS_IT_SO)
            self.put("is_it_so", asked.data, prompt, "Yes" if asked.yes else "No")
        if asked.written:
            self.put("answer", asked.data, own, asked.written)
        if asked.gold and there and len(asked.gold.split()) <= 30:
            told = replace(own[-1], content=f"{own[-1].content} The answer is: {quoted(asked.gold)}")
            self.put("hinted", asked.data, own, "", hinted=self.tokens([told]), gold=asked.gold)


def statements(writer: Writer, rng: random.Random, most: int) -> None:
    """Write people's sentences and the changed ones of the even sources, up to `most` drawn ones."""
    known, found = set(), []
    for pair in pairs(DATA.parent):
        if pair.half != "even" or pair.data in ("northwind", "aapl_10q"):
            continue
        kinds = [(pair.true, pair.passages, "Yes")] if (pair.true, pair.passages) not in known else []
        known.add((pair.true, pair.passages))
        kinds.append((pair.changed, pair.others or pair.passages, "No"))
        for statement, passages, reply in kinds:
            text = "\n\n".join(
                PASSAGE.fill(number=str(number), text=quoted(text)) for number, text in enumerate(passages, 1)
            )
            content = IS_TRUE.fill(passages=text, statement=quoted(statement))
            found.append((pair.data, [Message("user", content)], reply))
    for data, messages, reply in rng.sample(found, min(most, len(found))):
        writer.put("true", data, messages, reply)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", default=",".join([*SETS, "statements"]))
    parser.add_argument("--most", type=int, default=100_000, help="questions of a set")
    parser.add_argument("--statements", type=int, default=1300, help="how many, drawn")
    chosen = parser.parse_args()
    encoder = Encoder(graphs=graphs_path(LLMSettings()))
    llm = LlamaCpp(resolve(DEFAULT, models_path(LLMSettings())), name=DEFAULT, threads=1)
    meaning = Meaning(encoder.encode, limit=60_000)
    reader = GenerativeReader(
        llm, passages=READ, prompt_tokens=TOKENS[0], form=FORMS["qwen2.5-coder-1.5b"], checker=Checker(meaning=meaning)
    )
    writer = Writer(llm, reader, chosen.out)
    for name in chosen.sets.split(","):
        rng = random.Random(name)
        count = 0
        if name == "statements":
            statements(writer, rng, chosen.statements)
            continue
        for asked in SETS[name](encoder, meaning, rng):
            writer.write(asked, rng)
            count += 1
            if count >= chosen.most:
                break
        print(name, count, flush=True)
    writer.out.close()


if __name__ == "__main__":
    main()
