"""Single lines of `pdfqa doctor`; the whole command is in test_evaluation.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pdfqa_core.cli.doctor import _private
from pdfqa_core.errors import PdfQAError


@pytest.mark.skipif(os.name != "posix", reason="rights as of POSIX")
def test_doctor_says_who_can_read_the_workspace_and_what_to_do(tmp_path: Path):
    folder = tmp_path / "my work"
    (folder / "pdfs").mkdir(parents=True)
    for path in (folder, folder / "pdfs"):
        path.chmod(0o700)
    assert _private(folder).startswith("nobody else on this computer has a right")
    (folder / "pdfs").chmod(0o750)
    with pytest.raises(PdfQAError) as one:
        _private(folder)
    assert one.value.what == f"Others on this computer have rights to {folder / 'pdfs'} (mode 750)."
    assert f"chmod -R go= '{folder}'" in one.value.hint
    folder.chmod(0o755)
    with pytest.raises(PdfQAError, match=r"\(mode 755\) and 1 more"):
        _private(folder)
