"""What the numbers of an evaluation say: success counts, sentences computed from the values, how to read a measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pdfqa_core.evaluation_types import Evaluation, ScoredSystem
from pdfqa_core.exports.table import is_share, measure_of
from pdfqa_core.metrics.comparison import TURN, TYPE, Comparison, group_means, item_values, spreads
from pdfqa_core.metrics.statistics import mean_of_scored

FEWEST = 3  # questions of a turn or type that a sentence speaks of
MOST_DESCRIBED = 4  # systems that have sentences of their own

# How a high and a low value are read. Source of the first six: the framework whose report this follows.
GUIDE = {
    "answer_f1": "High: the answers have the words of the gold ones. Well above EM: many are partly right.",
    "answer_em": "High: the answers are right to the word. Low with a high F1: right, but worded or cut differently.",
    "token_recall": "High: the gold answer stands in what is said. Well above F1: right, and more is said beside it.",
    "citation_precision": "High: nothing is cited that does not belong there. Low: citations are made up or careless.",
    "citation_recall": "High: all the evidence is cited. Low: a part of it is missing, as in questions of two steps.",
    "citation_f1": "High: both at once.",
    "insufficient_context_detection": "High: what cannot be answered is recognised. Low: answers are made up.",
    "bleu_1": "High: what is said stands in the gold answer. Low: much is said beside it.",
    "rouge_l": "High: the words come in the order of the gold answer.",
    "rouge_l_sum": "High: each sentence of the gold answer is there in its own words.",
    "bertscore_f1": "High: the same is said, in whatever words; values lie close together, so differences count.",
    "llm_accuracy": "What a language model thinks right: read it beside its agreement with people.",
    "str_em": "High: the short answers of all readings of the question are there.",
    "refusal_recall": "High: what cannot be answered is refused.",
    "refusal_precision": "High: hardly anything is refused that could be answered.",
    "answered_surely": "High: what can be answered is answered without a doubt.",
    "wrongly_sure": "Low: hardly any answer to a question without one looks sure.",
    "HR@1": "High: the first passage found is a right one.",
    "HR@5": "High: a right passage is among the first five, so that the reader can see it.",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Success:
    """How many items reach a measure's full value, by system: "6/8 (75 %)"."""

    title: str
    cells: tuple[str, ...]


def successes(evaluation: Evaluation) -> tuple[Success, ...]:
    """Return the counts of every measure between 0 and 1 that some item has in full, of the items that were scored."""
    found = []
    for name in filter(is_share, evaluation.measures):
        values = [[one for one in item_values(system, name) if one is not None] for system in evaluation.systems]
        counts = [sum(one == 1.0 for one in own) for own in values]
        if any(counts):
            cells = tuple(count_words(count, len(own)) for count, own in zip(counts, values, strict=True))
            found.append(Success(measure_of(name).pretty_name, cells))
    return tuple(found)


def count_words(count: int, total: int) -> str:
    """Return "6/8 (75 %)"; a dash where nothing was counted."""
    return f"{count}/{total} ({100 * count / total:.0f} %)" if total else "–"


def _of_all(count: int, total: int, what: str) -> str:
    return f"{count} of {total} {what} ({100 * count / total:.0f} %)"


MOST_LISTED = 24  # items that are listed, or drawn, one by one
_HEADS = {
    "answer_f1": "Ans F1", "answer_em": "Ans EM", "citation_precision": "Cit prec", "citation_recall": "Cit rec",
    "citation_f1": "Cit F1", "insufficient_context_detection": "Insuf",
}  # fmt: skip


def of_item(values: Mapping[str, float | None]) -> str:
    """Return a sentence about one answer, from its values; empty where its words were not scored."""
    f1, em, missing = (values.get(name) for name in ("answer_f1", "answer_em", "insufficient_context_detection"))
    precision, recall = values.get("citation_precision"), values.get("citation_recall")
    if f1 is None:
        return ""
    if missing is not None:
        said = "The program sees that there is no answer" if missing else "The program answers, but there is no answer"
    elif em == 1:
        said = "The answer is right to the word"
    elif f1 > 0:
        said = f"The answer is partly right: F1 {f1:.3f} gives credit, EM none"
    else:
        said = "The answer shares no word with the gold one"
    if precision is None or recall is None:
        return f"{said}."
    if precision == recall == 1:
        return f"{said}; all and only the right places are cited."
    wrong = ["something that does not belong there is cited"] if precision < 1 else []
    wrong += ["a place is missing"] if recall < 1 and missing is None else []
    return f"{said}; {' and '.join(wrong)}."


def items_text(evaluation: Evaluation) -> str:
    """Return the values of each answer with its sentence, as lines for a terminal.

    Empty for several systems, more than MOST_LISTED items, and items without an answer's measures.
    """
    heads = {name: head for name, head in _HEADS.items() if name in evaluation.measures}
    items = evaluation.systems[0].items
    if len(evaluation.systems) > 1 or len(items) > MOST_LISTED or "answer_f1" not in heads:
        return ""
    width = max(len("Item"), *(len(item.id) for item in items))
    lines = ["  ".join([f"{'Item':<{width}}", *heads.values()])]
    for item in items:
        values = ("–" if (one := item.metrics.get(name)) is None else f"{one:.3f}" for name in heads)
        cells = [f"{value:>{len(head)}}" for value, head in zip(values, heads.values(), strict=True)]
        lines.append("  ".join([f"{item.id:<{width}}", *cells, of_item(item.metrics)]).rstrip())
    return "\n".join(lines)


def guide(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Return how to read the measures of an evaluation, by their names."""
    return tuple((measure_of(name).pretty_name, GUIDE[name]) for name in evaluation.measures if name in GUIDE)


def insights(evaluation: Evaluation, comparison: Comparison) -> tuple[str, ...]:
    """Return sentences about an evaluation; each of them is counted from its values."""
    found = list(_compared(comparison))
    several = len(evaluation.systems) > 1
    for system in evaluation.systems[:MOST_DESCRIBED]:
        found += [f"{system.name}: {words}" if several else f"{words[:1].upper()}{words[1:]}" for words in _of(system)]
    found += _by_group(evaluation)
    found += _repeats(evaluation)
    return tuple(found)


def _compared(comparison: Comparison) -> Iterator[str]:
    if not comparison.baseline:
        return
    any_found = False
    for name, cells in comparison.cells.items():
        for measure, cell in cells.items():
            if cell.significant and cell.difference is not None and cell.difference.mean is not None:
                any_found = True
                change = cell.difference
                bounds = "" if change.low is None else f" [{change.low:+.3f}, {change.high:+.3f}]"
                words = "above" if (cell.difference.mean or 0.0) > 0 else "below"
                yield (
                    f"{name} is {words} {comparison.baseline} on {measure_of(measure).pretty_name}: "
                    f"{change.mean:+.3f}{bounds}, p = {cell.p:.3f} after Holm's adjustment."
                )
    if not any_found:
        yield (
            f"No difference to {comparison.baseline} is significant on these questions; that is no proof that there is "
            "none."
        )


def _of(system: ScoredSystem) -> Iterator[str]:
    """Yield what a system's items say about its answers, citations and refusals."""
    f1, em, precision, recall, both, missing = (
        item_values(system, name)
        for name in (
            "answer_f1",
            "answer_em",
            "citation_precision",
            "citation_recall",
            "citation_f1",
            "insufficient_context_detection",
        )
    )
    scored = [one for one in f1 if one is not None]
    if partly := sum(0 < one < 1 for one in scored):
        yield f"{_of_all(partly, len(scored), 'answers')} are partly right: F1 gives them credit, EM none."
    if wrong := sum(one == 0 for one in scored):
        yield f"{_of_all(wrong, len(scored), 'answers')} share no word with the gold answer."
    if any(one is not None for one in precision):
        cited = [one for one in precision if one is not None]
        recalled = [one for one in recall if one is not None]
        extra, less = sum(one < 1 for one in cited), sum(one < 1 for one in recalled)
        if extra:
            yield f"{_of_all(extra, len(cited), 'answers')} cite something that does not belong there, or nothing."
        if less:
            yield f"{_of_all(less, len(recalled), 'answers')} leave out a place that the gold answer cites."
        exact = [cite for right, cite in zip(em, both, strict=True) if right == 1 and cite is not None]
        if exact:
            right = sum(one == 1 for one in exact)
            yield f"of {len(exact)} exact answers, {right} cite all and only the right places."
    if asked := [one for one in missing if one is not None]:
        known = sum(one == 1 for one in asked)
        yield f"{_of_all(known, len(asked), 'questions')} without an answer in the texts are recognised as such."
    failed = sum("error" in item.texts for item in system.items)
    if failed:
        yield f"{_of_all(failed, len(system.items), 'questions')} failed and are in no mean."


def _by_group(evaluation: Evaluation) -> Iterator[str]:
    """Yield the turns and types that are hardest and easiest by the first measure, of the best system."""
    measure = next(filter(is_share, evaluation.measures), "")
    if not measure:
        return
    means = [mean_of_scored(item_values(system, measure)) for system in evaluation.systems]
    if all(mean is None for mean in means):
        return
    best = max(range(len(means)), key=lambda place: -1.0 if (mean := means[place]) is None else mean)
    system = evaluation.systems[best]
    title = measure_of(measure).pretty_name
    for by in (TYPE, TURN):
        groups = [
            (one.value, one.n, mean)
            for one in group_means(evaluation, by, measure)
            if one.n >= FEWEST and (mean := one.means[system.name].mean) is not None
        ]
        if len(groups) < 2:
            continue
        low, high = min(groups, key=lambda one: one[2]), max(groups, key=lambda one: one[2])
        if low[2] < high[2]:
            yield (
                f"{system.name} does best on {by} {high[0]} ({title} {high[2]:.2f}, n = {high[1]}) and worst on {by} "
                f"{low[0]} ({low[2]:.2f}, n = {low[1]})."
            )


def _repeats(evaluation: Evaluation) -> Iterator[str]:
    """Yield how far the repeats of each sampled system lie apart."""
    for one in spreads(evaluation, evaluation.measures[:1]):
        yield (
            f"{one.system}, sampled with {one.repeats} seeds: {measure_of(one.measure).pretty_name} {one.mean:.3f} ± "
            f"{one.deviation:.3f} (standard deviation), from {one.low:.3f} to {one.high:.3f}."
        )
