"""Agreement against the values that the documentation of R's package irrCAC 1.0 prints, and against scikit-learn.

Source: K. L. Gwet, "Calculating Chance-corrected Agreement Coefficients (CAC)", overview vignette of irrCAC 1.0,
https://cran.r-project.org/web/packages/irrCAC/vignettes/overview.html
"""

from __future__ import annotations

import pytest
from sklearn.metrics import cohen_kappa_score

from pdfqa_core.metrics.agreement import (
    Agreement,
    agreement,
    gwet_ac1,
    krippendorff_alpha,
)
from tests.metrics.test_many_annotators import FOUR, units

ABSTRACTORS = {"Ectopic": (13, 0, 0), "AIU": (0, 20, 7), "NIU": (0, 4, 56)}  # cont3x3abstractors


def abstractors() -> tuple[list[str], list[str]]:
    """Return the labels that two abstractors gave a hundred patients."""
    names = list(ABSTRACTORS)
    pairs = [
        (row, column)
        for row, counts in ABSTRACTORS.items()
        for column, n in zip(names, counts, strict=True)
        for _ in range(n)
    ]
    return [one for one, _ in pairs], [other for _, other in pairs]


def test_two_raters_as_irrcac_prints_them() -> None:
    first, second = abstractors()
    found = agreement(first, second, labels=tuple(ABSTRACTORS), ordinal=False)
    assert found.agreement == pytest.approx(0.89)
    assert found.kappa == pytest.approx(0.7964094, abs=5e-8)
    assert found.ac1 == pytest.approx(0.8493305, abs=5e-8)
    assert found.pabak == pytest.approx(0.835)  # the coefficient of Brennan and Prediger
    alpha = krippendorff_alpha(list(zip(first, second, strict=True)))
    assert alpha.alpha == pytest.approx(0.7972585, abs=5e-8)
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second))
    assert found.low == pytest.approx(0.68, abs=0.03)  # irrCAC's interval is normal, (0.68, 0.913)
    assert found.high == pytest.approx(0.913, abs=0.03)


def test_four_raters_with_gaps_as_irrcac_prints_them() -> None:
    four = units(FOUR)  # cac.raw4raters are the data of Krippendorff 2011
    assert gwet_ac1(four, tuple("12345")) == pytest.approx(0.77544, abs=5e-6)
    assert krippendorff_alpha(four).alpha == pytest.approx(0.74342, abs=5e-6)


def test_ac1_of_two_is_that_of_a_pair() -> None:
    first, second = abstractors()
    pair = agreement(first, second, labels=tuple(ABSTRACTORS), resamples=0)
    assert gwet_ac1(list(zip(first, second, strict=True)), tuple(ABSTRACTORS)) == pytest.approx(pair.ac1)
    assert gwet_ac1([["1", None]], ("0", "1")) is None


# ------------------------------------------------------------------ what misleads


def table(a: int, b: int, c: int, d: int) -> Agreement:
    pairs = [*[("1", "1")] * a, *[("1", "0")] * b, *[("0", "1")] * c, *[("0", "0")] * d]
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    return agreement(first, second, annotators=("Ada", "Ben"), resamples=200)


def test_the_prevalence_paradox_is_explained() -> None:
    """Feinstein and Cicchetti 1990, tables I and II: the same agreement of .85, kappa .70 and .32."""
    balanced, skewed = table(40, 9, 6, 45), table(80, 10, 5, 5)
    assert (balanced.agreement, skewed.agreement) == (0.85, 0.85)
    assert (balanced.kappa, skewed.kappa) == (pytest.approx(0.70, abs=5e-3), pytest.approx(0.32, abs=5e-3))
    assert balanced.note == ""
    assert skewed.note.startswith("Kappa is low although the annotators agree on 85 % of the items, because 88 % of")
    assert "(prevalence paradox)" in skewed.note


def test_a_constant_annotator_makes_kappa_0() -> None:
    found = table(50, 0, 9, 0)
    assert found.kappa == 0
    assert found.note.startswith("Ben gave every item the label '1', so kappa can only be 0")
    assert "undefined" in table(50, 0, 0, 0).note
