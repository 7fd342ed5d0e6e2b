"""Protocols of runs: questions go to systems, their answers are scored. One module per protocol, imported here."""

from pdfqa_core.protocols.runs import (  # noqa: F401
    answers,
    asqa,
    conversations,
    entailment,
    hotpotqa,
    judging,
    refusal,
)
from pdfqa_core.protocols.runs.base import (
    EVIDENCE,
    GIVEN,
    GOLD,
    NONE,
    PREDICTED,
    RECORDED,
    SEARCH,
    Case,
    CaseFile,
    RunProtocol,
    Tools,
    drawn,
    run_protocols,
)

__all__ = [
    "EVIDENCE", "GIVEN", "GOLD", "NONE", "PREDICTED", "RECORDED", "SEARCH", "Case", "CaseFile", "RunProtocol", "Tools",
    "drawn", "run_protocols",
]  # fmt: skip
