"""The agreement of a study as files."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.exports.agreement import (
    agreement_figure,
    agreement_frame,
    agreement_html,
    agreement_latex,
    kappa_matrix,
)
from pdfqa_core.metrics.agreement import Agreement, AgreementOfMany
from pdfqa_core.protocols.annotation import CRITERIA, by_annotator
from pdfqa_core.protocols.study_measures import study_agreement, with_others
from pdfqa_core.study_types import AppliesTo, Rating
from tests.storage.conftest import NOW


def ratings(*names: str, turns: int = 40) -> list[Rating]:
    rng = random.Random(1)
    found = []
    for turn in range(turns):
        right = rng.random() < 0.6
        for name in names:
            given = {f"t{turn}": ("answer", right if rng.random() < 0.8 else not right)}
            given[f"t{turn}#1"] = ("passage", True)
            for item, (criterion, value) in given.items():
                when = NOW + timedelta(minutes=turn)
                found.append(Rating("s", item, name, criterion, str(int(value)), "", 1.0, when))
    return found


def compared(*names: str) -> tuple[AgreementOfMany, ...]:
    return study_agreement(by_annotator(ratings(*names)), CRITERIA, {})


TWO = compared("Ada", "Ben_1")
THREE = compared("Ada", "Ben", "Cleo")


def pairs(found: tuple[AgreementOfMany, ...]) -> list[Agreement]:
    return [pair for one in found for pair in one.pairs]


def test_criteria_that_nobody_rated_are_left_out_and_others_are_found() -> None:
    assert [one.criterion for one in TWO] == ["answer", "passage"]
    assert study_agreement(by_annotator(ratings("Ada")), CRITERIA, {}) == ()
    tone = [Rating("s", "t1", "Ada", "tone", value, "", 1.0, NOW) for value in ("4", "10", "2")]
    known, *_, other = with_others(CRITERIA, tone)
    assert known is CRITERIA[0]
    assert (other.name, other.scale, other.applies_to) == ("tone", ("2", "4", "10"), AppliesTo.ANSWER)


def test_three_annotators_have_a_kappa_for_each_pair() -> None:
    answer = THREE[0]
    assert [pair.annotators for pair in answer.pairs] == [("Ada", "Ben"), ("Ada", "Cleo"), ("Ben", "Cleo")]
    assert answer.alpha.n == 40
    first, second, third = (f"{pair.kappa:.3f}" for pair in answer.pairs)
    assert kappa_matrix(answer)[1] == [["1", first, second], [first, "1", third], [second, third, "1"]]


def test_the_report_has_every_number_and_says_what_is_undefined() -> None:
    answer, _ = pairs(TWO)
    page = agreement_html("A <b>study</b>", NOW, pairs(TWO)).decode()
    latex = agreement_latex("A_study", pairs(TWO)).decode()
    for made in (page, latex):
        for value in (answer.kappa, answer.low, answer.pabak, answer.ac1, answer.prevalence_index, answer.bias_index):
            assert f"{value:.3f}" in made
    assert "A &lt;b&gt;study" in page
    assert "so kappa is undefined" in page
    assert r"answer & Ada and Ben\_1 & 40 &" in latex
    rows = agreement_frame(pairs(TWO), TWO)
    kappas = rows[(rows["criterion"] == "answer") & (rows["statistic"] == "kappa")]
    assert kappas["value"].tolist() == [answer.kappa]


def test_matrices_are_drawn() -> None:
    assert agreement_figure("Pilot", pairs(TWO), "pdf").startswith(b"%PDF")
    with pytest.raises(UsageError, match="no item that two people rated"):
        agreement_figure("Pilot", [], "png")
