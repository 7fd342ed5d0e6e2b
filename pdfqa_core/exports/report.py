"""An evaluation as one HTML file that needs nothing else: tables, figure, every item, settings and versions.

All texts are escaped by the template engine; the page's own policy forbids loading anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from markupsafe import Markup

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import IN_ANY_PROFILE, OTHER_THAN_SOURCE, Evaluation, Run, RunSystem, ScoredItem
from pdfqa_core.exports.figure import MOST_SYSTEMS, legend_names, panels
from pdfqa_core.exports.frames import latex_escape, latex_table
from pdfqa_core.exports.insights import guide, insights, of_item, successes
from pdfqa_core.exports.runs import chart_panels
from pdfqa_core.exports.table import (
    best,
    difference,
    explanation,
    html_page,
    interval,
    interval_words,
    is_share,
    matching,
    measure_of,
    short_name,
    spread_text,
)
from pdfqa_core.metrics.comparison import MOST_GROUPS, TURN, Cell, Comparison, grouped, spreads
from pdfqa_core.metrics.statistics import LARGE, Summary
from pdfqa_core.settings import Settings

# ----------------------------------------------------------------------------------------------------
# Which notes of an evaluation say that a number is computed in another way than in its source, and beside which.


DEVIATES = (OTHER_THAN_SOURCE, IN_ANY_PROFILE)  # one of them ends a note on what is computed in another way
_RANK = re.compile(r"@\d+$")


@dataclass(frozen=True, slots=True)
class Deviations:
    """Notes told apart.

    `marks` are letters by measure, for the table's head; `lettered` the notes that they stand for; `others` deviate in
    how passages are made and found; `notes` are all the rest.
    """

    marks: Mapping[str, str]
    lettered: tuple[tuple[str, str], ...]
    others: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether something is computed in another way than in its source."""
        return bool(self.lettered or self.others)


def deviations_of(notes: Sequence[str], measures: Sequence[str]) -> Deviations:
    """Return the notes told apart; a note is of the measures that the words before its colon name."""
    marks: dict[str, str] = {}
    lettered: list[tuple[str, str]] = []
    others: list[str] = []
    for note in notes:
        if not note.endswith(DEVIATES):
            continue
        text = note.removesuffix(OTHER_THAN_SOURCE).strip()
        of = [name for name in measures if _names(text.partition(":")[0], measure_of(name).pretty_name)]
        if not of:
            others.append(text)
            continue
        letter = ascii_lowercase[len(lettered) % len(ascii_lowercase)]
        lettered.append((letter, text))
        marks |= {name: f"{marks.get(name, '')}{letter}" for name in of}
    rest = tuple(note for note in notes if not note.endswith(DEVIATES))
    return Deviations(marks, tuple(lettered), tuple(others), rest)


def _names(head: str, measure: str) -> bool:
    named = f"{_RANK.sub('@k', measure)} "
    return any(named.startswith(f"{one.strip()} ") for one in re.split(r" and |, ", head) if one.strip())


# ----------------------------------------------------------------------------------------------------
# The table that compares systems, as LaTeX for a paper: short heads, notes on what they stand for, and deviations.

LONGEST_HEAD = 22  # characters of a system's name that still heads a column


def table_latex(evaluation: Evaluation, comparison: Comparison) -> bytes:
    """Return a booktabs table with intervals, the best value of each measure bold, and notes below.

    Systems or measures make the columns, whichever are fewer. The notes say what short heads stand for, and where a
    number is computed in another way than in its source.
    """
    import pandas as pd

    names, measures = list(comparison.cells), comparison.measures
    found = deviations_of(evaluation.notes, measures)
    heads: dict[str, str] = {}  # what a short head stands for
    if len(names) == 1:
        head = ["Measure", "Mean", r"95\,\% interval", "$n$", "unscored"]
        body = [[_row(m, found), *_single(comparison.cells[names[0]][m].summary)] for m in measures]
        columns = "lrcrr"
    elif len(names) <= len(measures):
        heads = _system_heads(names)
        head = ["Measure", *(latex_escape(one) for one in heads)]
        body = [[_row(m, found), *(_latex_cell(comparison, s, m) for s in names)] for m in measures]
        columns = "l" + "c" * len(names)
    else:
        heads = {short_name(m): measure_of(m).pretty_name for m in measures}
        head = ["System", *(f"{latex_escape(short_name(m))}{_mark(m, found)}" for m in measures)]
        body = [[latex_escape(s), *(_latex_cell(comparison, s, m) for m in measures)] for s in names]
        columns = "l" + "c" * len(measures)
    made = latex_table(
        pd.DataFrame(body, columns=head),
        caption=_caption(evaluation, comparison),
        columns=columns,
        label=f"tab:{_label(evaluation.protocol)}",
    )
    matched = latex_escape(matching(evaluation))
    return _with_notes(made, [*_legend(heads), *filter(None, [matched]), *_told(found)])


def _system_heads(names: Sequence[str]) -> dict[str, str]:
    """Return the heads of columns: the names without what all end in, or where one is too long, S1, S2 and so on."""
    heads = legend_names(names)
    if all(len(head) <= LONGEST_HEAD for head in heads):
        return dict(zip(heads, names, strict=True))
    return {f"S{place}": name for place, name in enumerate(names, start=1)}


def _legend(heads: dict[str, str]) -> list[str]:
    listed = [f"{latex_escape(head)}: {latex_escape(name)}" for head, name in heads.items() if head != name]
    return [f"{'; '.join(listed)}."] if listed else []


def _told(found: Deviations) -> list[str]:
    lines = [f"$^{{{letter}}}$ {latex_escape(text)}" for letter, text in found.lettered]
    other = " ".join(found.others)
    return [*lines, *([f"Other than in the sources: {latex_escape(other)}"] if other else [])]


def _with_notes(table: bytes, lines: Sequence[str]) -> bytes:
    if not lines:
        return table
    notes = "\n\\par ".join(lines)
    box = f"\\par\\smallskip\n\\parbox{{\\linewidth}}{{\\footnotesize {notes}}}\n\\end{{table}}"
    return table.decode().replace("\\end{table}", box).encode()


def _mark(measure: str, found: Deviations) -> str:
    letters = found.marks.get(measure, "")
    return f"$^{{{letters}}}$" if letters else ""


def _row(measure: str, found: Deviations) -> str:
    return f"{latex_escape(measure_of(measure).pretty_name)}{_mark(measure, found)}"


def _label(protocol: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in protocol) or "results"


def _single(summary: Summary) -> list[str]:
    mean = "--" if summary.mean is None else f"{summary.mean:.3f}"
    bounds = "--" if summary.low is None else f"[{summary.low:.3f}, {summary.high:.3f}]"
    return [mean, bounds, str(summary.n), str(summary.unscored)]


def _latex_cell(comparison: Comparison, system: str, measure: str) -> str:
    cell = comparison.cells[system][measure]
    if cell.summary.mean is None:
        return "--"
    text = f"{cell.summary.mean:.3f}"
    if round(cell.summary.mean, 3) == best(comparison, measure):
        text = rf"\textbf{{{text}}}"
    if cell.significant:
        text += "$^{*}$"
    if cell.summary.low is not None:
        text += rf" {{\scriptsize [{cell.summary.low:.3f}, {cell.summary.high:.3f}]}}"
    return text


def _caption(evaluation: Evaluation, comparison: Comparison) -> str:
    counts = {(c.summary.n, c.summary.unscored) for cells in comparison.cells.values() for c in cells.values()}
    items = len(evaluation.systems[0].items)
    text = f"{evaluation.protocol} on {evaluation.dataset}: {items} items"
    if any(unscored for _, unscored in counts):
        text += f" ({_unscored(comparison)})"
    text += f"; means with {interval_words(comparison)}"
    if comparison.baseline:
        text += f"; best in bold; *: differs from {comparison.baseline} (paired permutation test, Holm, p < 0.05)"
    return latex_escape(text + ".")


def _unscored(comparison: Comparison) -> str:
    parts = []
    for measure in comparison.measures:
        counts: Sequence[int] = [cells[measure].summary.unscored for cells in comparison.cells.values()]
        if any(counts):
            shown = str(counts[0]) if len(set(counts)) == 1 else "/".join(map(str, counts))
            parts.append(f"{measure_of(measure).pretty_name} unscored {shown}")
    return ", ".join(parts)


# ----------------------------------------------------------------------------------------------------
# How a run was made, as the paragraphs of a paper's method section, in Markdown.

_EVIDENCE = {
    "search": "searched for its evidence", "given": "read the passages that the data set gives",
    "none": "answered closed book", "recorded": "had answered before; its answers stand in the data",
}  # fmt: skip

_HISTORY = {"gold": "with the answers of the data", "predicted": "with the system's own answers"}
# How measures were set, and by which models.
_SET = (
    "BERTScore", "BERTScore’s encoder", "judge", "judge’s threshold", "tagged by", "NLI model", "entities", "NER model",
    "Disambig-F1", "reading model",
)  # fmt: skip


def methods_text(run: Run) -> str:
    """Return paragraphs on data, systems, measures, statistics and software, with nothing left to guess."""
    results = run.results
    parts = [f"# {_plain(run.name)}", _data(run, results), *_systems(run.plan.systems, results)]
    if results is not None:
        parts += [_measures(results), _statistics(results), *_notes(results.notes)]
    parts.append(_software(run, results))
    return "\n\n".join(parts) + "\n"


def _data(run: Run, results: Evaluation | None) -> str:
    plan = run.plan
    count = len(_items(results)) if results is not None else run.total // max(1, len(plan.systems))
    drawn = f", drawn at random with seed {plan.seed}" if plan.limit else ""
    profile = ""
    if plan.profile and results is not None:
        other = deviations_of(results.notes, results.measures).any or "but" in results.settings.get("profile", "")
        rest = ", but for what the notes name" if other else ""
        profile = f" All choices follow the sources (profile “seed”){rest}."
    return (
        f"**Data.** Protocol *{plan.protocol}* on {_plain(plan.dataset)} (SHA-256 `{plan.data_hash}`), {count:,} "
        f"questions{drawn}.{profile}"
    )


def _systems(systems: Sequence[RunSystem], results: Evaluation | None) -> list[str]:
    found = ["**Systems.**"]
    talks = results is not None and any(item.conversation for item in _items(results))
    for system in systems:
        settings = _with_defaults(json.loads(system.settings))
        said = f"- *{_plain(system.name)}* {_EVIDENCE.get(system.evidence, system.evidence)}"
        if settings:
            said += _recipe(system, settings)
        if talks and system.evidence != "recorded":
            said += f"; earlier turns: {_HISTORY.get(system.history, system.history)}"
        found.append(said + ".")
    return ["\n".join(found)]


def _with_defaults(given: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Return a system's settings, those that did not come along at their defaults; none where nothing was set."""
    default = Settings().model_dump()
    return {section: {**values, **given.get(section, {})} for section, values in default.items()} if given else {}


def _items(results: Evaluation) -> tuple[ScoredItem, ...]:
    return results.systems[0].items if results.systems else ()


def _recipe(system: RunSystem, settings: Mapping[str, Any]) -> str:
    llm = settings["llm"]
    words = _search(system, settings) if system.evidence == "search" else ""
    if system.model:
        hashed = f" (SHA-256 `{system.model_hash}`)" if system.model_hash else ""
        how = "greedy" if llm["temperature"] == 0 else f"temperature {llm['temperature']}, top-p {llm['top_p']}"
        words += (
            f"; reader: {settings['reading']['reader']} with {system.model}{hashed}, {how}, seed {llm['seed']}, "
            f"at most {llm['max_tokens']} tokens, context {llm['context_size']}"
        )
    else:
        words += "; reader: sentences of the passages, word for word"
    reading = settings["reading"]
    sure = f", sure from {reading['sure_threshold']}" if "sure_threshold" in reading else ""  # not in earlier versions
    refusal = f"{reading['refusal']} below {reading['confidence_threshold']}{sure}"
    judged = "plain pipeline, nothing judged" if reading.get("plain") else f"whole pipeline, refusal: {refusal}"
    return f"{words}; {judged} (settings `{system.settings_fingerprint}`)"


def _search(system: RunSystem, settings: Mapping[str, Any]) -> str:
    chunking, retrieval = settings["chunking"], settings["retrieval"]
    size = {
        "windows": f" of {chunking['size']} {chunking['unit']}, step {chunking['step']}",
        "snippets": f" of {chunking['length']} {chunking['unit']}",
    }.get(chunking["chunker"], "")
    plain = settings["reading"].get("plain")
    headed = ", indexed with title and heading" if chunking["headings"] else ""
    bm25 = f"BM25 k1 = {retrieval['k1']}, b = {retrieval['b']}, idf {retrieval.get('idf', 'okapi')}"
    used = [bm25, *_search_models(system, retrieval)]
    return (
        f"; pages read by: {chunking.get('read_by') or settings['extraction']['extractor']}; passages: "
        f"{chunking['chunker']}{size}{headed}; retriever: {retrieval['retriever']} ({', '.join(used)}), k = "
        f"{retrieval['k']}; follow-up questions: {'joined' if plain else settings['conversation']['rewriter']}"
    )


def _search_models(system: RunSystem, retrieval: Mapping[str, Any]) -> list[str]:
    """Return the models that a system searched with, by name and hash; of earlier versions the encoder."""
    bundled = "the bundled all-MiniLM-L6-v2"
    names = {"encoder": "embedding_model", "late interaction model": "late_model", "re-ranker": "reranker"}
    hashes = dict(system.models)
    if not hashes and retrieval["retriever"] != "bm25":
        hashes = {"encoder": ""}
    return [
        f"{role} {retrieval.get(names.get(role, '')) or bundled}{f' (hash `{found}`)' if found else ''}"
        for role, found in hashes.items()
    ]


def _measures(results: Evaluation) -> str:
    lines = []
    for name in results.measures:
        one = measure_of(name)
        source = f" ({one.source})" if one.source else ""
        lines.append(f"- {one.pretty_name}: {one.formula or name}{source}")
    more = [f"- {name}: {results.settings[name]}" for name in _SET if name in results.settings]
    return "\n".join(["**Measures.**", *lines, *more])


def _statistics(results: Evaluation) -> str:
    items = _items(results)
    several = (
        " Systems are compared on the same questions: paired bootstrap intervals of the differences, two-sided paired "
        "permutation tests (9,999 resamples), p-values adjusted by Holm's method, α = .05."
        if len(results.systems) > 1
        else ""
    )
    if any(item.conversation for item in items):
        several = f" Questions of one conversation are resampled together where there are ten or more of them.{several}"
    intervals = "bias-corrected and accelerated bootstrap intervals over questions (9,999 resamples, seeded)"
    if len(items) >= LARGE:
        intervals = "intervals by the normal limit"
    return (
        f"**Statistics.** Means with 95 % {intervals}. Of proportions they are exact (Clopper and Pearson) where all "
        "values are 0 or all are 1; other measures have none where all values are the same. Questions that could not "
        f"be scored are left out and counted.{several}"
    )


def _notes(notes: Sequence[str]) -> list[str]:
    return ["\n".join(["**Notes.**", *(f"- {_plain(note)}" for note in notes)])] if notes else []


def _software(run: Run, results: Evaluation | None) -> str:
    used = {**run.versions, **(results.versions if results is not None else {})}
    listed = ", ".join(f"{name} {version}" for name, version in used.items())
    return f"**Software.** {listed}. Run of {run.created_at:%Y-%m-%d}."


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in " ".join(text.split()))


# ----------------------------------------------------------------------------------------------------
# An evaluation as one HTML file that needs nothing else: tables, figure, every item, settings and versions.

MOST_ROWS = 2_000
_TITLES = {"answers": "Answers", "asqa": "ASQA", "hotpotqa": "HotpotQA", "entailment": "Entailment"}


def report_html(evaluation: Evaluation, comparison: Comparison) -> bytes:
    """Return the report as a UTF-8 HTML file; it lists at most MOST_ROWS items."""
    names = list(comparison.cells)
    labels = legend_names(names)
    full = [(label, name) for label, name in zip(labels, names, strict=True) if label != name]
    found = deviations_of(evaluation.notes, comparison.measures)
    texts = _texts(evaluation)
    first = comparison.measures[0]
    turns = grouped(evaluation, TURN, (first,)) if evaluation.protocol == "conversations" else ()
    in_items = [name for name in comparison.measures if name in evaluation.systems[0].items[0].metrics]
    in_words = "answer_f1" in in_items
    return html_page(
        "report",
        title=f"{_TITLES.get(evaluation.protocol, evaluation.protocol.capitalize())}: {evaluation.dataset}",
        items=f"{len(evaluation.systems[0].items):,}",
        when=f"{evaluation.made_at:%Y-%m-%d %H:%M} {evaluation.made_at.tzname() or ''}".strip(),
        systems=labels,
        baseline=labels[names.index(comparison.baseline)] if comparison.baseline else "",
        deviations=found,
        notes=found.notes,
        first=measure_of(first).pretty_name,
        turns=[
            (one.value, [interval(cells[first].summary) for cells in one.cells.values()])
            for one in turns
            if 1 < len(turns) <= MOST_GROUPS
        ],
        rows=[
            {
                "title": measure_of(m).pretty_name,
                "mark": found.marks.get(m, ""),
                "cells": [_shown(comparison, name, m) for name in names],
            }
            for m in comparison.measures
        ],
        explanation=explanation(comparison) if comparison.baseline else f"[ ]: {interval_words(comparison)}.",
        matching=matching(evaluation),
        **_published(evaluation),
        panels=[Markup(svg) for svg in _drawn(evaluation, comparison)],  # noqa: S704 - made by the figure, names escaped
        drawn=min(MOST_SYSTEMS, len(names)),
        tall=len(names) > MOST_SYSTEMS,
        charts=[(title, Markup(svg)) for title, svg in chart_panels(evaluation)],  # noqa: S704 - as above
        spreads=[(one.system, measure_of(one.measure).pretty_name, spread_text(one)) for one in spreads(evaluation)],
        successes=successes(evaluation),
        insights=insights(evaluation, comparison),
        guide=guide(evaluation),
        definitions=[measure_of(name) for name in comparison.measures],
        item_measures=[measure_of(name).pretty_name for name in in_items],
        texts=[*(text.replace("_", " ").capitalize() for text in texts), *(["In words"] if in_words else [])],
        listed=_listed(evaluation, in_items, texts, in_words=in_words),
        total=sum(len(system.items) for system in evaluation.systems),
        settings=[*full, *evaluation.settings.items()],
        versions=list(evaluation.versions.items()),
    )


def _drawn(evaluation: Evaluation, comparison: Comparison) -> tuple[str, ...]:
    try:
        return tuple(svg for _, svg in panels(evaluation, comparison))
    except UsageError:
        return ()  # nothing was scored; the table says so


def _shown(comparison: Comparison, system: str, measure: str) -> dict[str, Any]:
    """Return a cell of the results; `bar` holds left end, width and mean in percent."""
    cell: Cell = comparison.cells[system][measure]
    own = cell.summary
    leading = own.mean is not None and len(comparison.cells) > 1 and round(own.mean, 3) == best(comparison, measure)
    bar = None
    if own.mean is not None and own.low is not None and own.high is not None and is_share(measure):
        low, high, mean = (round(100 * min(1.0, max(0.0, value)), 1) for value in (own.low, own.high, own.mean))
        bar = (low, round(high - low, 1), mean)
    tone = ""
    if cell.significant and cell.difference is not None and cell.difference.mean is not None:
        judged = measure_of(measure).higher_is_better
        tone = "" if judged is None else "good" if (cell.difference.mean > 0) == judged else "bad"
    numbers = {name: getattr(own, name) for name in ("mean", "low", "high")}
    return {
        **{name: None if value is None else f"{value:.3f}" for name, value in numbers.items()},
        "n": own.n,
        "unscored": own.unscored,
        "best": leading,
        "difference": difference(cell),
        "tone": tone,
        "bar": bar,
    }


def _published(evaluation: Evaluation) -> dict[str, Any]:
    names = list(dict.fromkeys(name for row in evaluation.published.values() for name in row))
    rows = [
        (system, [f"{100 * row[name]:.1f}" if name in row else "–" for name in names])
        for system, row in evaluation.published.items()
    ]
    return {"published": rows, "published_measures": [measure_of(name).pretty_name for name in names]}


def _texts(evaluation: Evaluation) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for system in evaluation.systems:
        for item in system.items[:MOST_ROWS]:
            found.update(dict.fromkeys(name for name, text in item.texts.items() if text))
    return tuple(found)


def _listed(
    evaluation: Evaluation, measures: Sequence[str], texts: Sequence[str], *, in_words: bool
) -> list[dict[str, Any]]:
    """Return the rows of the items, the systems of one item below each other."""
    rows = []
    for number in range(len(evaluation.systems[0].items)):
        for place, system in enumerate(evaluation.systems):
            item = system.items[number]
            values = [item.metrics.get(name) for name in measures]
            rows.append(
                {
                    "id": item.id,
                    "system": place,
                    "texts": [
                        *(item.texts.get(text, "") for text in texts),
                        *([of_item(item.metrics)] if in_words else []),
                    ],
                    "scores": [_score(name, value) for name, value in zip(measures, values, strict=True)],
                }
            )
            if len(rows) == MOST_ROWS:
                return rows
    return rows


def _score(name: str, value: float | None) -> tuple[str, str, float | None]:
    """Return an item's value for the machine, for people, and the length of its bar in percent."""
    if value is None:
        return "", "–", None
    return repr(value), f"{value:.3f}", round(100 * value, 1) if is_share(name) else None
