"""Answers: each question on its own, closed book, with the gold passages, or through the whole system.

Files of answers are JSON lists (or JSONL) of objects with `answer` and, where there are any, `citations` and `id`. A
gold answer may be a list of references, empty where none is known. Items are matched by id where both files give ids,
else by their order. A row may say that its question is not `answerable`, what a person thought of the answer (`human`:
true or false, "Yes" or "No"), and why nothing came of it (`error`), so that it is not scored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

from pdfqa_core.cores import over_cores
from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import CitedPlace, Prediction, ScoredSystem
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.base import Measure
from pdfqa_core.metrics.bertscore import NAMES as BERTSCORE
from pdfqa_core.metrics.bertscore import Baseline, TokenEmbedder, bertscore
from pdfqa_core.metrics.catalogue import all_measures
from pdfqa_core.metrics.rag import PHRASE, refusal_precision, refusal_recall
from pdfqa_core.metrics.refusal import classify_refusals
from pdfqa_core.metrics.replies import Decision, OnDone
from pdfqa_core.metrics.short_answers import normalise_answer
from pdfqa_core.protocols.base import (
    Case,
    CaseFile,
    FilePrediction,
    Options,
    Pair,
    RunProtocol,
    Tools,
    Values,
    Written,
    answered,
    labelled,
    need_answers,
    need_gold,
    pair_of,
    run_protocols,
    scored_system,
    with_hits,
)
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, check_same_ids, flag_of, load_rows
from pdfqa_core.protocols.judging import JUDGED, check_judge, check_labels, judged
from pdfqa_core.reading.outcomes import declines

# ----------------------------------------------------------------------------------------------------
# Files of answers.

_ANSWERS = ("answer", "prediction", "answers", "references", "truth")
_LONGEST_PHRASE = 80  # characters with punctuation and white space around "insufficient context"


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A row of a file: `answers` holds one text for a prediction, all references for a gold answer."""

    row: int
    id: str
    answers: tuple[str, ...]
    citations: tuple[str, ...] | None = None
    question: str = ""
    answerable: bool | None = None
    human: bool | None = None
    error: str = ""


def read_rows(path: Path, *, several: bool) -> tuple[AnswerRow, ...]:
    """Return the rows of a file; `several`: an answer may be a list of references. Raises UsageError with the row."""
    hint = 'Write a list of {"answer": …, "citations": […]}.'
    rows = [_row(row, several) for row in load_rows(path, "answers", hint)]
    given = [row for row in rows if row.id]
    if given and len(given) < len(rows):
        missing = next(row.row for row in rows if not row.id)
        raise UsageError(f"{path.name}, row {missing}: there is no id.", "Give every row an id, or none.")
    check_ids(((row.row, row.id) for row in given), path.name)
    return tuple(rows)


def _row(row: JsonRow, several: bool) -> AnswerRow:
    value = row.values
    key = next((key for key in _ANSWERS if key in value), "")
    if not key:
        raise UsageError(f"{row.where}: there is no answer.", 'Every row needs an "answer".')
    answer = value[key]
    texts = answer if several and isinstance(answer, list) else [answer]
    if not all(isinstance(text, str | int | float) and not isinstance(text, bool) for text in texts):
        kinds = ", ".join(sorted({type(text).__name__ for text in texts}))
        hint = "Give a text or a list of texts." if several else "Give one text."
        raise UsageError(f"{row.where}: the answer is no text but {kinds}.", hint)
    return AnswerRow(
        row.number,
        "" if value.get("id") is None else str(value["id"]),
        tuple(str(text) for text in texts),
        _citations(row),
        str(value.get("question") or ""),
        flag_of(row, "answerable"),
        flag_of(row, "human"),
        str(value.get("error") or ""),
    )


def _citations(row: JsonRow) -> tuple[str, ...] | None:
    value = row.values.get("citations")
    if value is None:
        return None
    if not isinstance(value, list):
        raise UsageError(f"{row.where}: citations are no list.", "Write a list of ids; [] for no citation.")
    for one in value:
        wrong = (
            isinstance(one, bool | dict | list) or one is None or (isinstance(one, float) and not math.isfinite(one))
        )
        if wrong:
            raise UsageError(f"{row.where}: {one!r} is no citation.", "Cite by number or name.")
    return tuple(str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in value)


def matched(given: Mapping[str, Sequence[AnswerRow]], gold: Sequence[AnswerRow], name: str) -> Written:
    """Return the gold answers of a file, of this name, with the answers of each system, in the order of the gold file.

    By id where both have ids, else by order. Raises UsageError that names the first id or the number that is missing.
    """
    paired = {system: _paired(rows, gold) for system, rows in given.items()}
    first = next(iter(paired.values()))
    cases = tuple(
        Case(
            truth.id or first[place].id or str(truth.row),
            truth.question or next((rows[place].question for rows in paired.values() if rows[place].question), ""),
            truth.answers,
            _answerable(truth),
            gold_citations=truth.citations,
        )
        for place, truth in enumerate(gold)
    )
    predictions: dict[tuple[str, str], Prediction] = {
        (system, case.id): FilePrediction(
            case.id,
            one.answers[0],
            citations=tuple(CitedPlace(cited) for cited in one.citations or ()),
            error=one.error,
            human=one.human if one.human is not None else truth.human,
            cites=one.citations is not None,
        )
        for system, rows in paired.items()
        for case, one, truth in zip(cases, rows, gold, strict=True)
    }
    return Written(CaseFile(name, cases), predictions)


def _paired(given: Sequence[AnswerRow], gold: Sequence[AnswerRow]) -> Sequence[AnswerRow]:
    if given and gold and given[0].id and gold[0].id:
        known = {row.id: row for row in given}
        check_same_ids(known, {row.id: row for row in gold}, without=("no prediction", "no gold answer"))
        return [known[row.id] for row in gold]
    if len(given) != len(gold):
        raise UsageError(
            f"There are {len(given)} predictions and {len(gold)} gold answers.",
            "Give the items ids, or as many of the one as of the other.",
        )
    return given


def _answerable(truth: AnswerRow) -> bool:
    if truth.answerable is not None:
        return truth.answerable
    likely = (answer for answer in truth.answers if len(answer) < _LONGEST_PHRASE)
    return not any(normalise_answer(answer) == PHRASE for answer in likely)


# ----------------------------------------------------------------------------------------------------
# Every measure of text and citations, item by item, and those that need a model.

REFUSALS = ("refusal_recall", "refusal_precision")
# What a pair of answers is enough for: the measures all of whose inputs are its fields.
SCORES: Mapping[str, Measure[..., float | None]] = {
    one.name: one for one in all_measures() if one.inputs and {*one.inputs} <= {field.name for field in fields(Pair)}
}
DEFAULT = tuple(name for name in SCORES if name != "rouge_l_sum")
TEXT = tuple(name for name in DEFAULT if not name.startswith("citation"))
CITATIONS = tuple(name for name in DEFAULT if name.startswith("citation"))
MISSING = "insufficient_context_detection"
HITS = ("HR@1", "HR@5")  # of those that the charts draw


@cache
def _calls(
    measures: tuple[str, ...], options: Options
) -> list[tuple[str, Measure[..., float | None], tuple[str, ...], dict[str, Any]]]:
    """Return each measure with the fields of a pair that it is computed from, and the variants that are wanted."""
    known = {field.name for field in fields(options)}
    chosen = [(name, SCORES[name]) for name in measures]
    return [
        (name, one, one.inputs, {option: getattr(options, option) for option in known & one.parameters.keys()})
        for name, one in chosen
    ]


def _values(measures: tuple[str, ...], options: Options, pair: Pair) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, measure, inputs, variants in _calls(measures, options):
        given = [getattr(pair, one) for one in inputs]
        found[name] = None if any(one is None for one in given) else measure(*given, **variants)
    return found


def score_answers(
    pairs: Sequence[Pair],
    measures: Sequence[str] = DEFAULT,
    *,
    options: Options | None = None,
    more: Sequence[Sequence[Values]] = (),
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> list[Values]:
    """Return the values of all pairs; `more` are values by pair that a model gave.

    Raises UsageError for a measure that is not in SCORES, StoppedError.
    """
    for measure in measures:
        if measure not in SCORES:
            raise UsageError(f"There is no measure called {measure!r}.", f"Choose among: {', '.join(SCORES)}.")
    work = partial(_values, tuple(measures), options or Options())
    by_words = over_cores(work, pairs, stop=stop, on_done=on_done)
    found: list[Values] = []
    for own, *given in zip(by_words, *more, strict=True):
        values: dict[str, float | None] = dict(own)
        for one in given:
            values |= one
        found.append(values)
    return found


def score_meaning(
    pairs: Sequence[Pair],
    embedder: TokenEmbedder,
    *,
    idf: bool = False,
    baseline: Baseline | None = None,
    inner_product: bool = False,
    stop: StopSignal | None = None,
    on_done: OnDone | None = None,
) -> tuple[list[Values], str]:
    """Return BERTScore by item, and how it was set (encoder, idf, rescaling). Raises ModelError, UsageError."""
    found = bertscore(
        [pair.prediction for pair in pairs],
        [pair.references for pair in pairs],
        embedder,
        idf=idf,
        baseline=baseline,
        inner_product=inner_product,
        stop=stop,
        on_done=on_done,
    )
    return list(found.metrics()), found.setting


def score_refusals(
    pairs: Sequence[Pair], llm: LLM | None = None, *, stop: StopSignal | None = None, on_done: OnDone | None = None
) -> list[Values]:
    """Return refusal recall and precision by item; without `llm` refusals are recognised by their phrases.

    Recall is scored on unanswerable questions (refused?), precision on refusals (unanswerable?), so that the means over
    the scored items are recall and precision. An item that the model cannot decide on is scored on neither.
    """
    decisions: Sequence[Decision]
    if llm is None:
        texts = [pair.prediction for pair in pairs]
        decisions = [Decision(not text.strip() or declines(text), source="phrases") for text in texts]
    else:
        decisions = classify_refusals([pair.prediction for pair in pairs], llm, stop=stop, on_done=on_done)
    return [
        {
            "refusal_recall": refusal_recall(decision.value, pair.answerable),
            "refusal_precision": refusal_precision(decision.value, pair.answerable),
        }
        for pair, decision in zip(pairs, decisions, strict=True)
    ]


def score_pairs(
    name: str, pairs: Sequence[Pair], tools: Tools, measures: Sequence[str], judged_by_people: Sequence[Pair] = ()
) -> dict[str, Values]:
    """Return the values of pairs by id: of the text, and of what the tools have models for.

    `judged_by_people` are other answers, which tell how far a judge is right.
    """
    if not pairs:
        return {}
    more: list[Sequence[Values]] = []
    with_gold = [pair for pair in pairs if pair.references]
    if tools.embedder is not None and with_gold:
        more.append(_meaning(pairs, with_gold, tools))
    if tools.judge and tools.llm is not None:
        more.append(judged(name, pairs, tools.llm, tools, judged_by_people))
    if tools.refusals:
        asked = tools.llm if tools.refusals == "llm" else None
        more.append(score_refusals(pairs, asked, stop=tools.stop, on_done=tools.on_done))
    scored = score_answers(pairs, measures, options=tools.options, more=more, stop=tools.stop, on_done=tools.on_done)
    return dict(zip((pair.id for pair in pairs), scored, strict=True))


def _meaning(pairs: Sequence[Pair], with_gold: Sequence[Pair], tools: Tools) -> list[Values]:
    """Return BERTScore by pair, None where there is no gold answer."""
    assert tools.embedder is not None
    idf = tools.profile.idf and sum(len(pair.references) for pair in with_gold) > 1
    if tools.profile.idf and not idf:
        tools.notes.append("BERTScore is without idf: with one gold answer every weight would be 0.")
    found, tools.settings["BERTScore"] = score_meaning(
        with_gold,
        tools.embedder,
        idf=idf,
        baseline=tools.baseline,
        inner_product=tools.profile.inner_product,
        stop=tools.stop,
        on_done=tools.on_done,
    )
    by_id = dict(zip((pair.id for pair in with_gold), found, strict=True))
    return [by_id.get(pair.id, dict.fromkeys(BERTSCORE)) for pair in pairs]


# ----------------------------------------------------------------------------------------------------
# The protocol.


def has_citations(cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools) -> bool:
    """Return whether citations are scored: some gold answer has any, or the profile scores them where nobody has.

    Those of files are scored where any row, gold or not, says what it cites.
    """
    if tools.published:
        given = any(isinstance(one, FilePrediction) and one.cites for one in predictions.values())
        return given or tools.profile.empty_citations or any(case.gold_citations is not None for case in cases)
    if any(case.gold_citations for case in cases):
        return True
    return tools.profile.empty_citations and not any(one.citations for one in predictions.values())


class Answers(RunProtocol):
    """Every question on its own; a follow-up with the gold answers before it."""

    title: ClassVar[str] = "Answers"
    words: ClassVar[str] = "questions on their own: text, citations, meaning"
    shown: ClassVar[tuple[str, ...]] = (*TEXT, *BERTSCORE, JUDGED, *CITATIONS, *HITS)

    def check(self, file: CaseFile, options: Mapping[str, str]) -> None:
        """Raise UsageError without any gold answer or place, and where a judge cannot be calibrated."""
        need_answers(file, or_places=True)
        if options.get("judge"):
            check_judge(file, options)

    def score(
        self, name: str, cases: Sequence[Case], predictions: Mapping[str, Prediction], tools: Tools
    ) -> ScoredSystem:
        """Return the values of text and citations, and those of the models that there are."""
        if tools.published:
            _tell(tools)
        elif tools.options.beta != 1:
            tools.settings["ROUGE-L"] = f"β = {tools.options.beta:g}"
        cited = has_citations(cases, predictions, tools)
        pairs = [pair_of(case, one, cited=cited) for case, one in answered(cases, predictions)]
        measures = tools.measures or ((*TEXT, *CITATIONS) if cited else TEXT)
        values = score_pairs(name, pairs, tools, measures, labelled(cases))
        if tools.profile.zero_missing and all(one.get(MISSING, 0.0) is None for one in values.values()):
            values = {key: {**one, MISSING: 0.0} for key, one in values.items()}
        known = self.measures((), tools) if tools.published else ()
        return scored_system(name, cases, predictions, with_hits(values, cases, predictions), measures=known)

    def measures(self, systems: Sequence[ScoredSystem], tools: Tools) -> tuple[str, ...]:
        """Return the measures that have a value; of files all that were wanted."""
        if not tools.published:
            return super().measures(systems, tools)
        by_models = ((BERTSCORE, tools.embedder), ((JUDGED,), tools.judge), (REFUSALS, tools.refusals))
        return (*tools.measures, *(name for names, wanted in by_models if wanted for name in names))

    def published(self, gold: Path | None, data: Mapping[str, Path], options: Mapping[str, str]) -> Written:
        """Return the gold answers of a file with the answers of others; where a judge is calibrated, that can be."""
        gold = need_gold(gold, "their file")
        truth = read_rows(gold, several=True)
        found = matched({name: read_rows(path, several=False) for name, path in data.items()}, truth, gold.name)
        if options.get("judge") and options.get("calibrate"):
            for name in data:
                own = [one for (system, _), one in found.predictions.items() if system == name and not one.failed]
                check_labels(name, [one.human for one in own if isinstance(one, FilePrediction)])
        return found


def _tell(tools: Tools) -> None:
    """Note the variants of the measures of text, and who tells what takes a model."""
    options = tools.options
    stems = "Porter stems" if options.stemming else "no stemming"
    tools.settings["ROUGE-L"] = f"β = {options.beta:g}, {stems}"
    tools.settings["BLEU-1"] = "with brevity penalty" if options.brevity_penalty else "no brevity penalty"
    if tools.llm is not None:
        tools.settings["language model"] = tools.llm.name
    if tools.refusals:
        told_by = "the language model" if tools.refusals == "llm" else "their phrases"
        tools.settings["refusals told by"] = told_by


run_protocols.register("answers", Answers.words)(Answers())
