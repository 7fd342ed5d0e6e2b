"""Entailment: how much of an answer follows from its context and from the gold answer, and how much of that from it.

Three pairs of premise and hypothesis text per item: (context, answer), (end of the question + gold answer, answer),
(end of the question + answer, gold answer). Every segment of the hypothesis text becomes statements, each tagged as
entailed (ENT), contradicted (CONT) or neither (NEUT); a segment's score is the share of ENT, a pair's the mean over
its segments. What tags is given: a language model, or an NLI cross-encoder. Source: ai-dial-rag-eval.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.metrics.base import Group, measure
from pdfqa_core.metrics.refusal import SplitSentences, classify_refusals, segments
from pdfqa_core.metrics.replies import Decision, OnDone, UnusableReplyError, for_each, json_reply
from pdfqa_core.metrics.short_answers import harmonic, normalise_answer
from pdfqa_core.text import sentences

# ----------------------------------------------------------------------------------------------------
# Pronouns replaced by the nouns they stand for, so that every segment of a text can be judged alone.
#
# Source: ai-dial-rag-eval.

PRONOUN_PROMPT = (
    "Here are the sentences of a text as a JSON list.\n"
    "{sentences}\n\n"
    "Replace every pronoun by the noun it stands for, using the sentences before it. Change nothing else.\n"
    'Reply in JSON, with exactly {count} sentences: {{"sentences": ["…"]}}'
)
GROWTH = 1.5  # how much longer in tokens the reply may be than the sentences
PRONOUN_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Resolved:
    """The segments of a text after replacement; `reason` says why they are the original ones, where they are."""

    segments: tuple[str, ...]
    reason: str = ""


def replace_pronouns(
    texts: Sequence[str], llm: LLM, *, split: SplitSentences = sentences, stop: StopSignal | None = None
) -> tuple[Resolved, ...]:
    """Return the segments of each text with pronouns replaced.

    The first segment is context and stays as it is, so a text of one segment is not asked about. Where the model
    returns another number of segments, an empty one, or no JSON, the originals are kept and `reason` says so. Raises
    ModelError if the engine does not work, StoppedError.
    """
    pieces = [tuple(part.piece for part in segments(text, split)) for text in texts]

    def ask(originals: tuple[str, ...]) -> Resolved:
        return Resolved((originals[0], *_asked_for_pronouns(originals, llm, stop)))

    long = [originals for originals in pieces if len(originals) > 1]
    replies = iter(for_each(long, ask, lambda reason: Resolved((), reason), workers=llm.parallel))
    found = [next(replies) if len(originals) > 1 else Resolved(originals) for originals in pieces]
    return tuple(
        Resolved(originals, one.reason) if one.reason else one for originals, one in zip(pieces, found, strict=True)
    )


def _asked_for_pronouns(originals: tuple[str, ...], llm: LLM, stop: StopSignal | None) -> list[str]:
    count = len(originals)
    pieces: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"sentences": pieces},
        "required": ["sentences"],
        "additionalProperties": False,
    }
    listed = json.dumps(originals, ensure_ascii=False)
    max_tokens = int(GROWTH * llm.count_tokens([Message("user", listed)])) + PRONOUN_TOKENS
    prompt = [Message("user", PRONOUN_PROMPT.format(sentences=listed, count=count))]
    replied = json_reply(llm, prompt, schema, max_tokens=max_tokens, stop=stop)
    reply = replied.get("sentences") if isinstance(replied, Mapping) else None
    if not isinstance(reply, list) or not all(isinstance(piece, str) for piece in reply):
        raise UnusableReplyError("the reply is no list of sentences")
    if len(reply) != count:
        raise UnusableReplyError(f"the reply has {len(reply)} sentences, not {count}")
    if not all(piece.strip() for piece in reply):
        raise UnusableReplyError("the reply has an empty sentence")
    return [piece.strip() for piece in reply[1:]]


# ----------------------------------------------------------------------------------------------------
# Entailment: how much of an answer follows from its context and from the gold answer, and how much of that from it.

NAMES = ("entailment_context_answer", "entailment_gold_answer", "entailment_answer_gold", "entailment_f1")


class Tag(StrEnum):
    """What the premise says of a statement."""

    ENT = "ENT"
    CONT = "CONT"
    NEUT = "NEUT"


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a hypothesis with its tag; `probability` of entailment where the tagger gives one."""

    text: str
    tag: Tag
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A segment with its statements; without any it is unscored and `reason` says why."""

    text: str
    statements: tuple[Statement, ...] = ()
    reason: str = ""

    @property
    def score(self) -> float | None:
        """The share of statements that are entailed; None without statements."""
        if not self.statements:
            return None
        return sum(statement.tag is Tag.ENT for statement in self.statements) / len(self.statements)


class Tagger(Protocol):
    """What decides on (premise, hypothesis) pairs."""

    @property
    def name(self) -> str:
        """The model's name, for people and result files."""
        ...

    def tag(
        self, pairs: Sequence[tuple[str, str]], *, stop: StopSignal | None = None, on_done: OnDone | None = None
    ) -> list[Hypothesis]:
        """Return the hypothesis of each pair with its statements; unscored ones have none. Raises ModelError."""
        ...


# ------------------------------------------------------------------ a language model as tagger

PROMPT = (
    "Premise: {premise}\n\n"
    "Hypothesis: {hypothesis}\n\n"
    "Split the hypothesis into statements: the smallest parts of it that can be true or false, each copied word for "
    "word and without a gap (“Ann moved to Oslo in 2001.” has two: “Ann moved to Oslo” and “in 2001”). Tag each one: "
    "ENT if the premise entails it, CONT if the premise contradicts it, NEUT if the premise does neither.\n"
    'Reply in JSON: {{"statements": [{{"statement": "…", "tag": "ENT, CONT or NEUT"}}]}}'
)
TOKENS_AROUND_STATEMENT, EXTRA_TOKENS, MOST_TOKENS = 24, 32, 512  # of a reply
MOST_STATEMENTS = 12  # of a hypothesis
MOST_CLAUSES = 6  # of a hypothesis, for the parts that a statement can be; what follows belongs to the last one
_CLAUSE_END = re.compile(r"(?<=[,;:])\s+|\s+(?=(?:and|but|or|nor|while|whereas|because|although|which|who)\s)")


def clauses(hypothesis: str) -> list[tuple[int, int]]:
    """Return (start, end) of each clause of a hypothesis, by commas and conjunctions, at most MOST_CLAUSES."""
    ends = [match.span() for match in _CLAUSE_END.finditer(hypothesis)][: MOST_CLAUSES - 1]
    return list(zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(hypothesis)], strict=True))


def possible_statements(hypothesis: str) -> tuple[str, ...]:
    """Return the parts of a hypothesis by its clauses: one or several neighbours, the whole first."""
    found = clauses(hypothesis)
    parts = [hypothesis[start:end].strip() for i, (start, _) in enumerate(found) for _, end in found[i:]]
    return tuple(dict.fromkeys([hypothesis.strip(), *(part for part in parts if part.strip(" ,;:."))]))


def tag_schema(most: int, parts: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the schema of a reply with at most so many statements: any texts, or only such as are among `parts`."""
    statement = {
        "type": "object",
        "properties": {
            "statement": {"type": "string", **({"enum": list(parts)} if parts else {})},
            "tag": {"type": "string", "enum": [tag.value for tag in Tag]},
        },
        "required": ["statement", "tag"],
        "additionalProperties": False,
    }
    listed = {"type": "array", "items": statement, "minItems": 1, "maxItems": most}
    return {
        "type": "object",
        "properties": {"statements": listed},
        "required": ["statements"],
        "additionalProperties": False,
    }


class LLMTagger:
    """A language model that splits each hypothesis into statements and tags them.

    A statement is any part of the hypothesis that the model chooses, letter case and punctuation aside. Where it
    writes something else (small models repeat the premise, and entail that), it is asked again, and the schema allows
    only clauses. One said twice counts once, with its first tag.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    def tag(
        self, pairs: Sequence[tuple[str, str]], *, stop: StopSignal | None = None, on_done: OnDone | None = None
    ) -> list[Hypothesis]:
        """Return the hypothesis of each pair with its statements; one with an unusable reply has none.

        Raises ModelError if the engine does not work, StoppedError.
        """

        def ask(pair: tuple[str, str]) -> Hypothesis:
            try:
                return Hypothesis(pair[1], self._tagged(pair, MOST_STATEMENTS, (), stop))
            except UnusableReplyError:
                parts = possible_statements(pair[1])
                return Hypothesis(pair[1], self._tagged(pair, len(clauses(pair[1])), parts, stop))

        replies = for_each(
            pairs, ask, lambda reason: Hypothesis("", (), reason), workers=self._llm.parallel, on_done=on_done
        )
        return [
            Hypothesis(hypothesis, reply.statements, reply.reason)
            for (_, hypothesis), reply in zip(pairs, replies, strict=True)
        ]

    def _tagged(
        self, pair: tuple[str, str], most: int, parts: Sequence[str], stop: StopSignal | None
    ) -> tuple[Statement, ...]:
        length = self._llm.count_tokens([Message("user", pair[1])]) * (most if parts else 1)
        room = min(MOST_TOKENS, length + most * TOKENS_AROUND_STATEMENT + EXTRA_TOKENS)
        prompt = [Message("user", PROMPT.format(premise=pair[0], hypothesis=pair[1]))]
        reply = json_reply(self._llm, prompt, tag_schema(most, parts), max_tokens=room, stop=stop)
        return _statements(reply, pair[1])


def _statements(reply: Any, hypothesis: str) -> tuple[Statement, ...]:
    rows = reply.get("statements") if isinstance(reply, Mapping) else None
    if not isinstance(rows, list) or not rows:
        raise UnusableReplyError("the reply holds no statement")
    whole = f" {normalise_answer(hypothesis)} "
    found: dict[str, Statement] = {}
    for row in rows:
        text, tag = (row.get("statement"), row.get("tag")) if isinstance(row, Mapping) else (None, None)
        if not isinstance(text, str) or not text.strip() or tag not in list(Tag):
            raise UnusableReplyError(f"the reply holds a statement without text or tag: {json.dumps(row)[:80]}")
        if f" {normalise_answer(text)} " not in whole:
            raise UnusableReplyError(f"a statement is no part of the hypothesis: {text[:80]!r}")
        found.setdefault(text.strip(), Statement(text.strip(), Tag(tag)))
    return tuple(found.values())


# ------------------------------------------------------------------ the pipeline


@dataclass(frozen=True, slots=True)
class EntailmentItem:
    """A question with its retrieved texts, its gold answer and the answer; what is empty leaves its pairs unscored."""

    question: str
    contexts: tuple[str, ...]
    gold: str
    answer: str


@dataclass(frozen=True, slots=True)
class PairScore:
    """One of the three pairs. `reason` says why nothing was asked, where a text is missing."""

    hypotheses: tuple[Hypothesis, ...] = ()
    reason: str = ""

    def value(self, *, unusable_as_zero: bool = False) -> float | None:
        """Return the mean over the segments that have a score (0..1), None without any.

        `unusable_as_zero` counts segments without a score as 0, as the original pipeline does.
        """
        scores = [0.0 if h.score is None and unusable_as_zero else h.score for h in self.hypotheses]
        scored = [score for score in scores if score is not None]
        return sum(scored) / len(scored) if scored else None


@dataclass(frozen=True, slots=True)
class EntailmentScores:
    """All outputs of the pipeline for one item.

    `answer_pronouns` and `gold_pronouns` say why pronouns were kept ("" where they were replaced, or there was nothing
    to replace).
    """

    context_answer: PairScore
    gold_answer: PairScore
    answer_gold: PairScore
    answer_refused: Decision
    gold_refused: Decision
    answer_pronouns: str = ""
    gold_pronouns: str = ""

    def metrics(self, *, unusable_as_zero: bool = False) -> dict[str, float | None]:
        """Return the values by measure, None where a pair could not be scored."""
        pairs = (self.context_answer, self.gold_answer, self.answer_gold)
        faithfulness, precision, recall = (pair.value(unusable_as_zero=unusable_as_zero) for pair in pairs)
        f1 = None if precision is None or recall is None else harmonic(precision, recall)
        return dict(zip(NAMES, (faithfulness, precision, recall, f1), strict=True))


def entailment_scores(
    items: Sequence[EntailmentItem],
    tagger: Tagger,
    llm: LLM | None = None,
    *,
    split: SplitSentences = sentences,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[EntailmentScores, ...]:
    """Return the scores of each item, in order.

    `llm` replaces pronouns and decides on refusals; without one, pronouns stay and refusals are unscored. All pairs go
    to the tagger at once, so that it can batch them; `on_done` counts hypotheses. `split` gives (start, end) of each
    sentence. Raises ModelError if the tagger or the engine does not work, StoppedError.
    """
    answers = _resolved([item.answer for item in items], llm, split, stop)
    golds = _resolved([item.gold for item in items], llm, split, stop)
    asked = [_asked(item, *texts, split) for item, texts in zip(items, zip(answers, golds, strict=True), strict=True)]
    tagged = iter(
        tagger.tag([pair for three in asked for pairs, _ in three for pair in pairs], stop=stop, on_done=on_done)
    )
    scored = [[PairScore(tuple(next(tagged) for _ in pairs), reason) for pairs, reason in three] for three in asked]
    refused = _refusals([item.answer for item in items], llm, split, stop)
    gold_refused = _refusals([item.gold for item in items], llm, split, stop)
    return tuple(
        EntailmentScores(three[0], three[1], three[2], one, other, answer.reason, gold.reason)
        for three, one, other, answer, gold in zip(scored, refused, gold_refused, answers, golds, strict=True)
    )


def _resolved(
    texts: Sequence[str], llm: LLM | None, split: SplitSentences, stop: StopSignal | None
) -> tuple[Resolved, ...]:
    if llm is None:
        return tuple(Resolved(tuple(part.piece for part in segments(text, split))) for text in texts)
    return replace_pronouns(texts, llm, split=split, stop=stop)


def _refusals(
    texts: Sequence[str], llm: LLM | None, split: SplitSentences, stop: StopSignal | None
) -> tuple[Decision, ...]:
    if llm is None:
        return tuple(Decision(None, reason="there is no language model to ask") for _ in texts)
    return classify_refusals(texts, llm, split=split, stop=stop)


def _asked(
    item: EntailmentItem, answer: Resolved, gold: Resolved, split: SplitSentences
) -> list[tuple[list[tuple[str, str]], str]]:
    """Return the (premise, hypothesis) pairs of each pair of texts, with a reason where there are none."""
    question = segments(item.question, split)
    end = question[-1].piece if question else ""
    context = "\n\n".join(text.strip() for text in item.contexts if text.strip())
    gold_text, answer_text = " ".join(gold.segments), " ".join(answer.segments)
    return [
        _pairs(context, answer, "the context", "the answer"),
        _pairs(f"{end} {gold_text}".strip() if gold_text else "", answer, "the gold answer", "the answer"),
        _pairs(f"{end} {answer_text}".strip() if answer_text else "", gold, "the answer", "the gold answer"),
    ]


def _pairs(premise: str, hypothesis: Resolved, left: str, right: str) -> tuple[list[tuple[str, str]], str]:
    missing = right if not hypothesis.segments else left if not premise else ""
    if missing:
        return [], f"{missing} is empty"
    return [(premise, segment) for segment in hypothesis.segments], ""


for _name, _pretty, _formula in zip(
    NAMES,
    ("Faithfulness", "Entailment precision", "Entailment recall", "Entailment F1"),
    (
        "mean over the answer's segments: share of its statements that the retrieved context entails",
        "mean over the answer's segments: share of its statements that question and gold answer entail",
        "mean over the gold answer's segments: share of its statements that question and answer entail",
        "2PR / (P + R) of entailment precision and recall",
    ),
    strict=True,
):
    measure(_name, _pretty, _formula, "ai-dial-rag-eval", group=Group.ENTAILMENT)(entailment_scores)
