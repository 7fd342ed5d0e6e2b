"""The data of a run as it is kept: under the hash of its bytes, a BEIR folder as a ZIP."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.run_asking import RunFiles
from tests.protocols.test_beir import folder_of, zip_of
from tests.services.test_runs import by_id, done, request


def test_a_beir_folder_is_kept_as_one_file_that_is_read_when_the_folder_is_gone(tmp_path):
    folder = folder_of(tmp_path / "tiny")
    kept, digest, name = RunFiles(tmp_path / "kept").kept(folder)
    assert (kept.suffix, name, len(digest)) == (".zip", "tiny", 64)
    assert RunFiles(tmp_path / "kept").kept(folder) == (kept, digest, name)
    with pytest.raises(UsageError, match="no BEIR data set"):
        RunFiles(tmp_path / "kept").kept(tmp_path / "kept")
    with pytest.raises(UsageError, match="is not there"):
        RunFiles(tmp_path / "kept").kept(tmp_path / "nothing.json")


def test_a_beir_data_set_is_run_as_a_folder_and_as_a_zip(services, tmp_path):
    for data in (folder_of(tmp_path / "tiny"), zip_of(tmp_path / "other.zip", "other/")):
        _, found = done(services, request("answers", data))
        assert by_id(found)["q1"].metrics["HR@1"] == 1.0
    assert [run.dataset for run in services.evaluation.list_runs(LOCAL_OWNER)] == ["other.zip", "tiny"]
