from __future__ import annotations

import psutil
import pytest

from pdfqa_core.llm.hardware import Dimensions, Fit, Memory, fit, memory, needed_memory


def test_a_container_has_what_its_limit_leaves(tmp_path):
    limit, used = tmp_path / "max", tmp_path / "current"
    limit.write_text("100000000\n")
    used.write_text("30000000\n")
    assert memory((limit,), (used,)) == Memory(100_000_000, 70_000_000)
    limit.write_text("max\n")
    assert memory((limit,), (used,)).total == psutil.virtual_memory().total


def test_a_limit_above_the_machine_or_one_that_is_used_up(tmp_path):
    limit, used = tmp_path / "max", tmp_path / "current"
    limit.write_text(str(2**63 - 4096))  # how control groups of version 1 write "none"
    used.write_text("30000000")
    assert memory((limit,), (used,)).total == psutil.virtual_memory().total
    limit.write_text("20000000")
    assert memory((limit,), (used,)) == Memory(20_000_000, 0)
    used.unlink()  # a limit whose use is not told: what the machine has free, at most the limit
    assert memory((limit,), (used,)) == Memory(20_000_000, 20_000_000)


def test_what_a_model_needs_is_file_cache_and_buffer():
    dimensions = Dimensions(kv_width=1000, vocabulary=50_000, context=2048)
    assert needed_memory(10**9, dimensions, 1024, 256) == 10**9 + 4 * 1000 * 1024 + 4 * 256 * 50_000 + 50_000_000
    assert needed_memory(10**9, dimensions, 99_999, 256) == needed_memory(10**9, dimensions, 2048, 256)


@pytest.mark.parametrize(("needed", "found"), [(7, Fit.FITS), (8, Fit.TIGHT), (9.5, Fit.TIGHT), (9.6, Fit.TOO_LARGE)])
def test_fits_tight_or_too_large(needed, found):
    assert fit(needed, Memory(10, 1)) is found
