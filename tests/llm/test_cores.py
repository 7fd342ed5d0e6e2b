import os

import psutil

from pdfqa_core.llm import hardware


def test_a_container_limit_is_read(tmp_path):
    file = tmp_path / "cpu.max"
    file.write_text("150000 100000\n")
    assert hardware.cgroup_cores(file) == 1.5
    file.write_text("max 100000\n")
    assert hardware.cgroup_cores(file) is None
    assert hardware.cgroup_cores(tmp_path / "absent") is None


def test_without_a_topology_every_allowed_processor_is_a_core(tmp_path):
    assert hardware.physical_cores(tmp_path) >= 1


def test_where_the_system_shows_no_topology_the_physical_cores_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 8 if logical else 4)
    assert hardware.physical_cores(tmp_path / "absent") == 4
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: None)
    assert hardware.physical_cores(tmp_path / "absent") == os.cpu_count()


def test_hyper_threads_of_one_core_count_once(tmp_path):
    for number in range(256):
        folder = tmp_path / f"cpu{number}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text("0\n")
        (folder / "core_id").write_text("0\n")
    assert hardware.physical_cores(tmp_path) == 1
