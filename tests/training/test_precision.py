"""Numbers of 16 bits: taken where the processor has them, told where it has none."""

from __future__ import annotations

import pytest

from pdfqa_core.training import has_bf16, precision_on

torch = pytest.importorskip("torch")
CPU, MPS = torch.device("cpu"), torch.device("mps")
WITH = [{"avx512_bf16": True}, {"amx_bf16": True}, {"architecture": "aarch64", "bf16": True}]
WITHOUT = {"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}


@pytest.mark.parametrize("capabilities", WITH)
def test_bf16_is_taken_where_the_processor_has_it(capabilities):
    assert has_bf16(CPU, capabilities)
    assert precision_on(CPU, "auto", capabilities) == ("bf16", "")
    assert precision_on(CPU, "bf16", capabilities) == ("bf16", "")
    assert precision_on(CPU, "fp32", capabilities) == ("fp32", "")


def test_without_it_auto_is_fp32_and_bf16_is_warned_about():
    assert not has_bf16(CPU, WITHOUT)
    precision, note = precision_on(CPU, "auto", WITHOUT)
    assert (precision, "This processor has no numbers of 16 bits" in note) == ("fp32", True)
    precision, note = precision_on(CPU, "bf16", WITHOUT)
    assert (precision, "slower than fp32" in note) == ("bf16", True)
    assert precision_on(CPU, "fp32", WITHOUT) == ("fp32", "")


def test_other_devices_compute_with_32_bits_unless_asked():
    precision, note = precision_on(MPS, "auto")
    assert (precision, "device (mps)" in note) == ("fp32", True)
