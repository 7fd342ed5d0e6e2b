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


class FakeProcess:
    """A process that uses `cores`, or has ended; `below` are those it has started."""

    def __init__(self, cores, *below):
        self.cores, self.below = cores, below

    def children(self, *, recursive):
        assert recursive
        return list(self.below)

    def cpu_percent(self):
        if self.cores is None:
            raise psutil.NoSuchProcess(1)
        return 100 * self.cores


def test_cores_that_others_keep_busy_are_left_to_them_but_not_those_of_its_own_processes(monkeypatch):
    monkeypatch.setattr(hardware, "physical_cores", lambda: 4)
    monkeypatch.setattr(hardware, "WATCHED", 0)
    monkeypatch.setattr(psutil, "cpu_count", lambda: 4)
    monkeypatch.setattr(psutil, "cpu_percent", lambda: 50)
    for process, chosen in [
        (FakeProcess(0.1), 3),
        (FakeProcess(1.9), 4),
        (FakeProcess(0.1, FakeProcess(1.5), FakeProcess(0.2)), 4),
        (FakeProcess(0.1, FakeProcess(None)), 3),
    ]:
        monkeypatch.setattr(psutil, "Process", lambda process=process: process)
        assert hardware.default_threads() == chosen
