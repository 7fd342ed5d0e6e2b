"""All measures in the order of the docs, and the table that says what each of them is.

Importing this module declares every measure.
"""

from __future__ import annotations

import re
from types import ModuleType

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics import (
    accuracy,
    agreement,
    bertscore,
    bleu,
    citations,
    claims,
    disambig_f1,
    dr,
    entailment,
    exact_match,
    hotpot,
    insufficient_context,
    krippendorff,
    llm_judge,
    many_annotators,
    ranking,
    refusal,
    rouge,
    str_em,
    token_f1,
    weighted_kappa,
)
from pdfqa_core.metrics.base import Measure, measures

_MODULES: tuple[ModuleType, ...] = (
    token_f1, exact_match, bleu, rouge, bertscore, accuracy, llm_judge, entailment, claims, citations, hotpot,
    insufficient_context, refusal, str_em, disambig_f1, dr, ranking, agreement, weighted_kappa, krippendorff,
    many_annotators,
)  # fmt: skip
_CUTOFF = re.compile(r"(HR|R|nDCG|MRR)(?:@\d+)?")


def all_measures() -> tuple[Measure, ...]:
    """Return every measure, those of a group together."""
    found = list(
        dict.fromkeys(value for module in _MODULES for value in vars(module).values() if isinstance(value, Measure))
    )
    groups = list(dict.fromkeys(measure.group for measure in found))
    return tuple(sorted(found, key=lambda measure: groups.index(measure.group)))


def measure_named(name: str) -> Measure:
    """Return the measure of a name as it stands in files: "answer_f1", "HR@5". Raises UsageError for an unknown one."""
    cutoff = _CUTOFF.fullmatch(name)
    return measures.get(name if cutoff is None else "MRR" if cutoff[1] == "MRR" else f"{cutoff[1]}@k")


def is_measure(name: str) -> bool:
    """Return whether there is a measure of that name."""
    try:
        measure_named(name)
    except UsageError:
        return False
    return True


def markdown_table() -> str:
    """Return the table of all measures in Markdown, one per group under its heading."""
    parts = []
    measured = all_measures()
    for group in dict.fromkeys(measure.group for measure in measured):
        rows = [_row(measure) for measure in measured if measure.group == group]
        head = (
            "| measure | name in files | what it is | range | better | source |\n| --- | --- | --- | --- | --- | --- |"
        )
        parts.append(f"### {group}\n\n{head}\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _row(measure: Measure) -> str:
    cells = (
        measure.pretty_name, f"`{measure.name}`", measure.formula, measure.range, measure.direction, measure.source
    )  # fmt: skip
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
