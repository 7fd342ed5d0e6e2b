"""ASQA: long answers to ambiguous questions, written with the seed's length and scored as its authors and rageval do.

Gold: the data set's rows (`ambiguous_question`, `qa_pairs` with `short_answers`, `annotations` with `long_answer`,
`sample_id`) as a list, as JSONL, or as the official file {"dev": {id: row}}. Predictions: {id: text}, rows with `id`
(or `sample_id`) and `answer`, or the `answers` that rageval appends to the gold rows. Source: Stelmakh et al. 2022.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from pdfqa_core.cores import over_cores
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Prediction, ScoredSystem
from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.metrics.asqa import disambig_f1_entities, disambig_f1_qa, once, str_em
from pdfqa_core.metrics.rouge import rouge_l, rouge_l_sum
from pdfqa_core.protocols.base import (
    NONE,
    SEARCH,
    Case,
    CaseFile,
    Fields,
    Rows,
    RunProtocol,
    Tools,
    Written,
    answered,
    checked,
    run_protocols,
    scored_system,
    texts_of,
    widened,
    with_values,
)
from pdfqa_core.protocols.gold.formats import read_asqa, read_asqa_answers
from pdfqa_core.protocols.json_rows import JsonRow, check_same_ids
from pdfqa_core.streaming import complete

# The results that rageval's page lists for ASQA, in shares of 1; its ROUGE-L is not ROUGE-Lsum.
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "gpt-3.5-turbo-instruct (rageval)": {"str_em": 0.338, "rouge_l": 0.302, "disambig_f1": 0.307, "dr_rouge_l": 0.305},
    "mistral-7b (rageval)": {"str_em": 0.206, "rouge_l": 0.311, "disambig_f1": 0.266, "dr_rouge_l": 0.287},
    "text-davinci-003 (Jiang et al. 2023)": {
        "str_em": 0.338, "rouge_l": 0.333, "disambig_f1": 0.242, "dr_rouge_l": 0.284,
    },
    "PaLM 540B (Amplayo et al. 2023)": {"rouge_l": 0.345, "disambig_f1": 0.253, "dr_rouge_l": 0.296},
}  # fmt: skip
BY_RULE = (
    "Disambig-F1: entities are found by rule; the source takes a RoBERTa, which can be named: one that finds entities "
    "(--ner), or one that reads answers (--qa-model)."
)
READ_PROMPT = (
    "Text: {text}\n\nQuestion: {question}\n\n"
    "Answer the question with a few words of the text and nothing else. If the text does not answer it, say: none"
)
_READ_TOKENS = 32
_ENTITY = re.compile(
    r"\d[\d,.:/–-]*\d|\d|"  # numbers, dates, times, scores
    r"\b[^\W\d_a-zß-ÿ][\w'’&.-]*(?:\s+(?:(?:of|the|and|de|von|van|du|la|le|for|in)\s+){0,2}[^\W\d_a-zß-ÿ][\w'’&.-]*)*"
)
_OPENERS = frozenset(
    """a an the this that these those it he she they we you i his her its their there in on at by for from of to with as
    and but or so if when while where what which who how why is are was were after before since during although however
    though also both some many most other another each every all no not yes then thus because""".split()
)
INSTRUCTION = (
    "The question can be read in several ways. Write one long answer that answers every reading of it, with the names, "
    "dates and numbers that belong to each."
)

MOST_TOKENS = 256  # of an answer, as in the seed

# A closed-book prompt in the form of FLARE (Jiang et al. 2023): eight questions with their readings and answers, then
# the question. The questions are our own.
_TASK = "Given an ambiguous question, figure out its interpretations and answer them one by one."
ANSWERS_FOLLOW = "The answers to all interpretations are:"
_SHOTS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("What is the largest country in Africa?", "what is measured", (
        ("What is the largest country in Africa by area?", "The largest country in Africa by area is Algeria."),
        ("What is the largest country in Africa by population?",
         "The largest country in Africa by population is Nigeria."),
    )),
    ("What is the capital of South Africa?", "which branch of government is meant", (
        ("What is the executive capital of South Africa?", "The executive capital of South Africa is Pretoria."),
        ("What is the legislative capital of South Africa?", "The legislative capital of South Africa is Cape Town."),
        ("What is the judicial capital of South Africa?", "The judicial capital of South Africa is Bloemfontein."),
    )),
    ("When did World War II end?", "which part of the war is meant", (
        ("When did World War II end in Europe?", "World War II ended in Europe on 8 May 1945."),
        ("When did World War II end in the Pacific?", "World War II ended in the Pacific on 2 September 1945."),
    )),
    ("Who directed Psycho?", "which film is meant", (
        ("Who directed the 1960 film Psycho?", "The 1960 film Psycho was directed by Alfred Hitchcock."),
        ("Who directed the 1998 film Psycho?", "The 1998 film Psycho was directed by Gus Van Sant."),
    )),
    ("At how many degrees does water freeze?", "which scale is meant", (
        ("At how many degrees Celsius does water freeze?", "Water freezes at 0 degrees Celsius."),
        ("At how many degrees Fahrenheit does water freeze?", "Water freezes at 32 degrees Fahrenheit."),
    )),
    ("When did the first person fly to space?", "who is meant", (
        ("When did the first man fly to space?", "The first man, Yuri Gagarin, flew to space on 12 April 1961."),
        ("When did the first woman fly to space?",
         "The first woman, Valentina Tereshkova, flew to space on 16 June 1963."),
    )),
    ("Who sang I Will Always Love You?", "which recording is meant", (
        ("Who sang I Will Always Love You in 1974?", "In 1974 I Will Always Love You was sung by Dolly Parton."),
        ("Who sang I Will Always Love You in 1992?", "In 1992 I Will Always Love You was sung by Whitney Houston."),
    )),
    ("How many players does a rugby team have?", "which code of rugby is meant", (
        ("How many players does a rugby union team have?", "A rugby union team has 15 players."),
        ("How many players does a rugby league team have?", "A rugby league team has 13 players."),
    )),
)  # fmt: skip
_NUMBER = re.compile(r"\(\d+\)\s*")


def _listed(texts: Sequence[str]) -> str:
    return " ".join(f"({number}) {text}" for number, text in enumerate(texts, start=1))


def _few_shot() -> str:
    parts = [
        f"{_TASK}\nQuestion: {question}\nAnswer: This question is ambiguous in terms of {why}. Therefore, this "
        f"question has {len(readings)} interpretations: {_listed([one for one, _ in readings])} {ANSWERS_FOLLOW} "
        f"{_listed([answer for _, answer in readings])}"
        for question, why, readings in _SHOTS
    ]
    return "\n\n".join([*parts, f"{_TASK}\nQuestion: {{question}}\nAnswer:"])


FEW_SHOT = _few_shot()


def answer_alone(reply: str) -> str:
    """Return what a reply to FEW_SHOT answers: the first paragraph behind its readings, without numbers.

    Any other reply stays as it is. Source: rageval, which scores that part.
    """
    _, mark, answer = reply.strip().partition("\n\n")[0].partition(ANSWERS_FOLLOW)
    return _NUMBER.sub("", answer).strip() if mark else reply


@dataclass(frozen=True, slots=True)
class AsqaCase(Case):
    """An ambiguous question with its long answers; `pairs` are (disambiguated question, short answers)."""

    pairs: tuple[tuple[str, tuple[str, ...]], ...] = ()


def read_questions(path: Path, *, split: str = "dev") -> tuple[AsqaCase, ...]:
    """Return the rows of a gold file, of one split of the official one. Raises UsageError that names file and row."""
    return tuple(
        AsqaCase(one.id, one.question, one.references, recorded=one.recorded, pairs=one.pairs)
        for one in read_asqa(path, split=split)
    )


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
        self.name = f"the language model {llm.name}"

    def __call__(self, question: str, text: str) -> str:
        """Return the answer, empty where the text has none."""
        prompt = [Message("user", READ_PROMPT.format(text=text, question=question))]
        reply = "".join(complete(self._llm, prompt, max_tokens=_READ_TOKENS, stop=self._stop)).strip()
        answer = reply.partition("\n")[0].strip()
        return "" if answer.lower().strip(".\"' ") == "none" else answer


# ----------------------------------------------------------------------------------------------------
# The protocol.


class ReadingFields(BaseModel):
    """A reading of an ambiguous question with its answers."""

    question: str = ""
    short_answers: tuple[str, ...]


class AsqaFields(Fields):
    """What a gold row holds besides."""

    qa_pairs: tuple[ReadingFields, ...]


class AsqaRows(Rows):
    """Rows with the readings of their questions; the gold answers are the long ones."""

    def gold(self, case: Case) -> dict[str, Any]:
        """Return the row of a question."""
        listed = [{"question": question, "short_answers": list(short)} for question, short in _pairs(case)]
        return super().gold(case) | {"qa_pairs": listed}

    def case(self, row: JsonRow) -> Case:
        """Return the question of a row."""
        pairs = tuple((one.question, one.short_answers) for one in checked(row, AsqaFields).qa_pairs)
        return widened(super().case(row), AsqaCase, pairs=pairs)


class Asqa(RunProtocol):
    """Closed book by default, as in the seed's table."""

    title: ClassVar[str] = "ASQA"
    words: ClassVar[str] = "long answers to ambiguous questions: STR-EM, ROUGE-L, Disambig-F1, DR"
    evidence: ClassVar[tuple[str, ...]] = (NONE, SEARCH)
    overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "llm": {"max_tokens": MOST_TOKENS}, "reading": {"instruction": INSTRUCTION},
    }  # fmt: skip
    closed_book: ClassVar[Mapping[str, Mapping[str, Any]]] = {"reading": {"instruction": FEW_SHOT}}
    rows: ClassVar[Rows] = AsqaRows()

    def read(self, path: Path) -> CaseFile:
        """Return the rows of the data set."""
        return CaseFile(path.stem, read_questions(path))

    def published(self, gold: Path | None, data: Mapping[str, Path], options: Mapping[str, str]) -> Written:
        """Return the rows of the data set with the long answers of each system."""
        split = options.get("split", "dev")
        source = gold or next(iter(data.values()))
        cases = read_questions(source, split=split)
        wanted = {one.id: None for one in cases}
        predictions: dict[tuple[str, str], Prediction] = {}
        for name, path in data.items():
            answers = read_asqa_answers(path) if gold is not None else _carried(read_questions(path, split=split), path)
            check_same_ids(answers, wanted, without=("no answer", "no question"), name=name)
            predictions |= {(name, key): Prediction(key, text) for key, text in answers.items()}
        return Written(CaseFile(source.name, cases), predictions)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return STR-EM, both ROUGE-L and Disambig-F1 of every question; DR follows from the means.

        `disambig_f1` is in mode `qa` where the tools read, else in mode `entities`; with both, that of the entities is
        `disambig_f1_entities`.
        """
        there = answered(cases, predictions)
        by_words = over_cores(
            _by_words, [(answer_alone(one.answer), case) for case, one in there], stop=tools.stop, on_done=tools.on_done
        )
        find = tools.find or names_and_numbers
        find = once(find) if tools.profile.entity_sets else find
        found = {}
        for number, ((case, one), values) in enumerate(zip(there, by_words, strict=True), start=1):
            if tools.entities:
                by_entities = "disambig_f1" if tools.read is None else disambig_f1_entities.name
                values[by_entities] = disambig_f1_entities(answer_alone(one.answer), case.references, find)
            if tools.read is not None:
                values["disambig_f1"] = disambig_f1_qa(answer_alone(one.answer), _pairs(case), tools.read)
            found[case.id] = values
            if tools.on_done is not None:
                tools.on_done(number, len(there))
        _tell(tools)
        return scored_system(name, cases, predictions, found, _texts)

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures of the data set, those of the source first under its profile: ROUGE-L, as in rageval."""
        rouge, both = ("rouge_l", "rouge_l_sum"), ("dr_rouge_l", "dr")
        if not tools.profile.rouge_l:
            rouge, both = rouge[::-1], both[::-1]
        there, named = with_values(systems), ("str_em", *rouge, "disambig_f1", disambig_f1_entities.name)
        return (*(tuple(name for name in named if name in there) or named[:1]), *both)


def _tell(tools: Tools) -> None:
    """Note how entities are found and counted, and what answers the readings."""
    model = getattr(tools.find, "name", "the model given") if tools.find else ""
    counted = "; each once" if tools.profile.entity_sets else ""
    if tools.entities:
        tools.settings["entities"] = f"found by {model or 'rule: capitalised names and numbers'}{counted}"
    if tools.read is not None:
        tools.settings["read by"] = getattr(tools.read, "name", "the model given")
    tools.settings["Disambig-F1"] = "entities of both texts" if tools.read is None else "read by a model"
    tools.settings["ROUGE-Lsum"] = "Porter stems, a sentence per line"
    if tools.profile.name and tools.find is None and tools.read is None:
        tools.notes.append(BY_RULE)


def _by_words(asked: tuple[str, Case]) -> dict[str, float | None]:
    """Return what needs no model: the measures of an answer's words."""
    text, case = asked
    return {
        "str_em": str_em(text, [short for _, short in _pairs(case)]),
        "rouge_l": rouge_l(text, case.references),
        "rouge_l_sum": rouge_l_sum(text, case.references),
    }


def _pairs(case: Case) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return case.pairs if isinstance(case, AsqaCase) else ()


def _carried(cases: Sequence[Case], path: Path) -> dict[str, str]:
    """Return the answers that gold rows carry. Raises UsageError for one that carries none."""
    for case in cases:
        if case.recorded is None:
            raise UsageError(
                f"{path.name}: {case.id!r} carries no answer.", "Add “answers” to every row, or name --gold."
            )
    return {case.id: case.recorded or "" for case in cases}


def _texts(case: Case, prediction: Prediction | None) -> dict[str, str]:
    short = " · ".join(" / ".join(one) for _, one in _pairs(case))
    return texts_of(case, prediction) | ({"short_answers": short} if short else {})


run_protocols.register("asqa", Asqa.words)(Asqa())
