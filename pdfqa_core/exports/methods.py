"""How a run was made, as the paragraphs of a paper's method section, in Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pdfqa_core.evaluation_types import Evaluation, Run, RunSystem, ScoredItem
from pdfqa_core.exports.table import measure_of
from pdfqa_core.metrics.statistics import LARGE
from pdfqa_core.settings import Settings

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
    profile = " All choices follow the sources (profile “seed”)." if plan.profile else ""
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
    return f"{words}; refusal: {refusal} (settings `{system.settings_fingerprint}`)"


def _search(system: RunSystem, settings: Mapping[str, Any]) -> str:
    chunking, retrieval = settings["chunking"], settings["retrieval"]
    size = {"windows": f" of {chunking['size']} {chunking['unit']}, step {chunking['step']}",
            "snippets": f" of {chunking['length']} {chunking['unit']}"}.get(chunking["chunker"], "")  # fmt: skip
    headed = ", indexed with title and heading" if chunking["headings"] else ""
    used = [f"BM25 k1 = {retrieval['k1']}, b = {retrieval['b']}", *_search_models(system, retrieval)]
    return (
        f"; pages read by: {chunking.get('read_by') or settings['extraction']['extractor']}; passages: "
        f"{chunking['chunker']}{size}{headed}; retriever: {retrieval['retriever']} ({', '.join(used)}), k = "
        f"{retrieval['k']}; follow-up questions: {settings['conversation']['rewriter']}"
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
        if len(results.systems) > 1 else ""
    )  # fmt: skip
    if any(item.conversation for item in items):
        several = f" Questions of one conversation are resampled together where there are ten or more of them.{several}"
    intervals = "bias-corrected and accelerated bootstrap intervals over questions (9,999 resamples, seeded)"
    if len(items) >= LARGE:
        intervals = "intervals by the normal limit"
    return (
        f"**Statistics.** Means with 95 % {intervals}, exact ones where all are 0 or all are 1; questions "
        f"that could not be scored are left out and counted.{several}"
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
