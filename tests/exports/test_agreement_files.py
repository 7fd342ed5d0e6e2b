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
    agreement_markdown,
    over_time_svg,
)
from pdfqa_core.metrics.agreement import Agreement, AgreementOfMany
from pdfqa_core.protocols.annotation import CRITERIA, by_annotator
from pdfqa_core.protocols.study_measures import CriterionAgreement, study_agreement, with_others
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


def compared(*names: str) -> tuple[CriterionAgreement, ...]:
    return study_agreement(by_annotator(ratings(*names)), CRITERIA, {})


TWO = compared("Ada", "Ben_1")
THREE = compared("Ada", "Ben", "Cleo")


def pairs(found: tuple[CriterionAgreement, ...]) -> list[Agreement]:
    return [pair for one in found for pair in one.all.pairs]


def many(found: tuple[CriterionAgreement, ...]) -> list[AgreementOfMany]:
    return [one.all for one in found]


def test_criteria_that_nobody_rated_are_left_out_and_others_are_found() -> None:
    assert [one.all.criterion for one in TWO] == ["answer", "passage"]
    assert study_agreement(by_annotator(ratings("Ada")), CRITERIA, {}) == ()
    tone = [Rating("s", "t1", "Ada", "tone", value, "", 1.0, NOW) for value in ("4", "10", "2")]
    known, *_, other = with_others(CRITERIA, tone)
    assert known is CRITERIA[0]
    assert (other.name, other.scale, other.applies_to) == ("tone", ("2", "4", "10"), AppliesTo.ANSWER)


def test_three_annotators_have_a_kappa_for_each_pair() -> None:
    answer = THREE[0].all
    assert [pair.annotators for pair in answer.pairs] == [("Ada", "Ben"), ("Ada", "Cleo"), ("Ben", "Cleo")]
    assert answer.alpha.n == 40
    text = agreement_markdown("Pilot", pairs(THREE), many(THREE)).decode()
    kappa = answer.pairs[1].kappa
    assert kappa is not None
    assert f"| Ada | 1 | {answer.pairs[0].kappa:.3f} | {kappa:.3f} |" in text
    assert f"| Cleo | {kappa:.3f} | {answer.pairs[2].kappa:.3f} | 1 |" in text


def test_the_report_has_every_number_and_says_what_is_undefined() -> None:
    (answer, _), over_time = pairs(TWO), [one.over_time for one in TWO]
    page = agreement_html("A <b>study</b>", NOW, pairs(TWO), over_time=over_time).decode()
    text = agreement_markdown("A <b>study</b>", pairs(TWO), over_time=over_time).decode()
    latex = agreement_latex("A_study", pairs(TWO)).decode()
    for made in (page, text, latex):
        for value in (answer.kappa, answer.low, answer.pabak, answer.ac1, answer.prevalence_index, answer.bias_index):
            assert f"{value:.3f}" in made
    assert "A &lt;b&gt;study" in page
    assert "so kappa is undefined" in page
    assert "so kappa is undefined" in text
    assert r"answer & Ada and Ben\_1 & 40 &" in latex
    assert page.count("<svg") == 1
    assert "In the order of rating" in page
    assert text.count("## answer: in the order of rating") == 1
    rows = agreement_frame(pairs(TWO), many(TWO))
    kappas = rows[(rows["criterion"] == "answer") & (rows["statistic"] == "kappa")]
    assert kappas["value"].tolist() == [answer.kappa]


def test_matrices_and_kappa_over_time_are_drawn() -> None:
    over_time = [one.over_time for one in TWO]
    assert [len(parts) for parts in over_time] == [4, 4]
    assert agreement_figure("Pilot", pairs(TWO), over_time, "pdf").startswith(b"%PDF")
    assert "currentColor" in over_time_svg(over_time)
    assert over_time_svg([()]) == ""
    with pytest.raises(UsageError, match="no item that two people rated"):
        agreement_figure("Pilot", [], [], "png")
