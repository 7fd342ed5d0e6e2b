"""ASQA: long answers to ambiguous questions, scored as its authors and rageval do.

Gold: the data set's rows (`ambiguous_question`, `qa_pairs` with `short_answers`, `annotations` with `long_answer`,
`sample_id`) as a list, as JSONL, or as the official file {"dev": {id: row}}. Predictions: {id: text}, rows with `id`
(or `sample_id`) and `answer`, or the `answers` that rageval appends to the gold rows. Source: Stelmakh et al. 2022.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.cores import over_cores
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import ScoredItem, ScoredSystem
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.json_codec import parse_json
from pdfqa_core.metrics.asqa import FindEntities, ReadAnswer, disambig_f1_entities, disambig_f1_qa, str_em
from pdfqa_core.metrics.replies import OnDone
from pdfqa_core.metrics.rouge import rouge_l, rouge_l_sum
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, check_same_ids, load_object, load_rows
from pdfqa_core.streaming import complete

# Stelmakh et al.'s measures as others reported them for ASQA, in shares of 1.
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "gpt-3.5-turbo-instruct (rageval)": {"str_em": 0.338, "rouge_l_sum": 0.302, "disambig_f1": 0.307, "dr": 0.305},
    "mistral-7b (rageval)": {"str_em": 0.206, "rouge_l_sum": 0.311, "disambig_f1": 0.266, "dr": 0.287},
    "text-davinci-003 (Jiang et al. 2023)": {"str_em": 0.338, "rouge_l_sum": 0.333, "disambig_f1": 0.242, "dr": 0.284},
    "PaLM 540B (Amplayo et al. 2023)": {"rouge_l_sum": 0.345, "disambig_f1": 0.253, "dr": 0.296},
}
BY_RULE = "Disambig-F1: entities are found by rule; the source takes a RoBERTa that was trained for it (--ner)."
READ_PROMPT = (
    "Text: {text}\n\nQuestion: {question}\n\n"
    "Answer the question with a few words of the text and nothing else. If the text does not answer it, say: none"
)
_READ_TOKENS = 32
_HINT = "Give the rows of ASQA: ambiguous_question, qa_pairs, annotations, sample_id."
_PREDICTED = ("answer", "answers", "prediction", "output")
_ENTITY = re.compile(
    r"\d[\d,.:/–-]*\d|\d|"  # numbers, dates, times, scores
    r"\b[^\W\d_a-zß-ÿ][\w'’&.-]*(?:\s+(?:(?:of|the|and|de|von|van|du|la|le|for|in)\s+){0,2}[^\W\d_a-zß-ÿ][\w'’&.-]*)*"
)
_OPENERS = frozenset(
    """a an the this that these those it he she they we you i his her its their there in on at by for from of to with as
    and but or so if when while where what which who how why is are was were after before since during although however
    though also both some many most other another each every all no not yes then thus because""".split()
)


@dataclass(frozen=True, slots=True)
class AmbiguousQuestion:
    """A row of the data set; `pairs` are (disambiguated question, short answers). `answers` is what the row carries."""

    id: str
    question: str
    pairs: tuple[tuple[str, tuple[str, ...]], ...]
    long_answers: tuple[str, ...]
    prediction: str | None = None


def read_questions(path: Path, *, split: str = "dev") -> tuple[AmbiguousQuestion, ...]:
    """Return the rows of a gold file; `split` chooses from the official file. Raises UsageError with file and row."""
    rows = _rows_by_id(path, split) if _is_mapping(path) else load_rows(path, "questions", _HINT)
    found = tuple(map(_question, rows))
    check_ids(((place, one.id) for place, one in enumerate(found, start=1)), path.name)
    return found


def _rows_by_id(path: Path, split: str) -> list[JsonRow]:
    data = load_object(path)
    if split in data and isinstance(data[split], Mapping) and "qa_pairs" not in data[split]:
        data = data[split]
    elif data and not any(isinstance(row, Mapping) and "qa_pairs" in row for row in data.values()):
        raise UsageError(f"{path.name} has no split called {split!r}.", f"Choose among: {', '.join(data)[:200]}.")
    if not data:
        raise UsageError(f"{path.name} holds no questions.", _HINT)
    rows = []
    for number, (key, row) in enumerate(data.items(), start=1):
        if not isinstance(row, Mapping):
            raise UsageError(f"{path.name}, {key}: not an object.", _HINT)
        rows.append(JsonRow(number, f"{path.name}, {key}", {"sample_id": key, **row}))
    return rows


def _is_mapping(path: Path) -> bool:
    """Return whether the file is one JSON object that maps ids to rows, not a list or lines of rows."""
    data = read_file(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not data.startswith(b"{"):
        return False
    try:
        first = parse_json(data.partition(b"\n")[0], path.name)
    except UsageError:
        return True
    return isinstance(first, Mapping) and not any(key in first for key in ("qa_pairs", "sample_id", "id", *_PREDICTED))


def _question(row: JsonRow) -> AmbiguousQuestion:
    name = _id(row, "sample_id", _HINT)
    pairs = []
    for pair in _listed(row, "qa_pairs"):
        short = pair.get("short_answers") if isinstance(pair, Mapping) else None
        if not isinstance(short, list) or not all(isinstance(text, str) for text in short):
            raise UsageError(f"{row.where}: a pair has no list of short_answers.", _HINT)
        pairs.append((str(pair.get("question") or ""), tuple(short)))
    long_answers = []
    for one in _listed(row, "annotations"):
        text = one.get("long_answer") if isinstance(one, Mapping) else None
        if not isinstance(text, str):
            raise UsageError(f"{row.where}: an annotation has no long_answer.", _HINT)
        long_answers.append(text)
    question = str(row.values.get("ambiguous_question") or "")
    return AmbiguousQuestion(name, question, tuple(pairs), tuple(long_answers), _prediction(row))


def _id(row: JsonRow, key: str, hint: str) -> str:
    name = row.values.get("sample_id", row.values.get("id"))
    if name is None:
        raise UsageError(f"{row.where}: there is no {key}.", hint)
    return str(name)


def _listed(row: JsonRow, key: str) -> list[Any]:
    found = row.values.get(key)
    if not isinstance(found, list) or not found:
        raise UsageError(f"{row.where}: {key} is no list of objects.", _HINT)
    return found


def _prediction(row: JsonRow) -> str | None:
    key = next((key for key in _PREDICTED if key in row.values), "")
    given = row.values[key] if key else None
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    return _text(given, row.where) if key else None


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise UsageError(f"{where}: the answer is {type(given).__name__}, no text.", "Give one text per question.")
    return given


def read_answers(path: Path) -> Mapping[str, str]:
    """Return the predicted long answers by id. Raises UsageError that names file and row."""
    if _is_mapping(path):
        return {key: _text(text, f"{path.name}, {key}") for key, text in load_object(path).items()}
    hint = 'Write {"id": …, "answer": …}.'
    found = []
    for row in load_rows(path, "answers", hint):
        answer = _prediction(row)
        if answer is None:
            raise UsageError(f"{row.where}: there is no answer.", hint)
        found.append((row.number, _id(row, "id", hint), answer))
    check_ids(((number, name) for number, name, _ in found), path.name)
    return {name: answer for _, name, answer in found}


# ------------------------------------------------------------------ what reads, and what finds entities


def names_and_numbers(text: str) -> list[str]:
    """Return capitalised names and numbers of a text: entities by rule, where no model is given.

    A sentence's first word is taken only if it is no common opener.
    """
    found = []
    for match in _ENTITY.finditer(text):
        words = match[0].strip(".-'’&").split()
        while words and words[0].lower() in _OPENERS:
            words.pop(0)
        if words:
            found.append(" ".join(words))
    return found


class ReadingLLM:
    """A language model that answers a question with words of a text; "none" is no answer."""

    def __init__(self, llm: LLM, *, stop: StopSignal | None = None) -> None:
        self._llm = llm
        self._stop = stop
        self.name = llm.name

    def __call__(self, question: str, text: str) -> str:
        """Return the answer, empty where the text has none."""
        prompt = [Message("user", READ_PROMPT.format(text=text, question=question))]
        reply = "".join(complete(self._llm, prompt, max_tokens=_READ_TOKENS, stop=self._stop)).strip()
        answer = reply.partition("\n")[0].strip()
        return "" if answer.lower().strip(".\"' ") == "none" else answer


# ------------------------------------------------------------------ scoring


def measures_of(systems: Sequence[ScoredSystem], *, rouge_l: bool) -> tuple[str, ...]:
    """Return the measures of the data set that some system has; `rouge_l`: ROUGE-L before ROUGE-Lsum, as in rageval."""
    rouge, both = ("rouge_l", "rouge_l_sum"), ("dr_rouge_l", "dr")
    if not rouge_l:
        rouge, both = rouge[::-1], both[::-1]
    named = ("str_em", *rouge, "disambig_f1", disambig_f1_entities.name)
    there = {name for one in systems for item in one.items for name, value in item.metrics.items() if value is not None}
    return (*(tuple(name for name in named if name in there) or named[:1]), *both)


def score_asqa(
    name: str,
    gold: Sequence[AmbiguousQuestion],
    answers: Mapping[str, str],
    *,
    read: ReadAnswer | None = None,
    find: FindEntities | None = names_and_numbers,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> ScoredSystem:
    """Return STR-EM, ROUGE-L, ROUGE-Lsum and Disambig-F1 of every question; DR follows from the means.

    `disambig_f1` is in mode `qa` where `read` is given, else in mode `entities`; with both, that of the entities is
    `disambig_f1_entities`. Raises UsageError if an id is only in one of the two, StoppedError.
    """
    ids = {question.id: None for question in gold}
    check_same_ids(answers, ids, without=("no answer", "no question"), name=name)
    by_words = over_cores(_by_words, [(answers[one.id], one) for one in gold], stop=stop, on_done=on_done)
    items = []
    for number, (question, values) in enumerate(zip(gold, by_words, strict=True), start=1):
        text = answers[question.id]
        if find is not None:
            by_entities = "disambig_f1" if read is None else disambig_f1_entities.name
            values[by_entities] = disambig_f1_entities(text, question.long_answers, find)
        if read is not None:
            values["disambig_f1"] = disambig_f1_qa(text, question.pairs, read)
        shown = {
            "question": question.question,
            "prediction": text,
            "short_answers": " · ".join(" / ".join(short) for _, short in question.pairs),
            "long_answers": " | ".join(question.long_answers),
        }
        items.append(ScoredItem(question.id, values, {key: value for key, value in shown.items() if value}))
        if on_done is not None:
            on_done(number, len(gold))
    return ScoredSystem(name, tuple(items))


def _by_words(asked: tuple[str, AmbiguousQuestion]) -> dict[str, float | None]:
    """Return what needs no model: the measures of an answer's words."""
    text, question = asked
    return {
        "str_em": str_em(text, [short for _, short in question.pairs]),
        "rouge_l": rouge_l(text, question.long_answers),
        "rouge_l_sum": rouge_l_sum(text, question.long_answers),
    }
