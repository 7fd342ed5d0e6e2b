"""How evaluations are run, with people and with data sets; protocols that ask systems questions are imported here."""

from pdfqa_core.protocols import (  # noqa: F401
    answers,
    asqa,
    conversations,
    entailment,
    hotpotqa,
    judging,
    refusal,
)
from pdfqa_core.protocols.base import (
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
