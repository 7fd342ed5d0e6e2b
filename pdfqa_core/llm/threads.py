"""How many processor cores there are to compute with."""

from __future__ import annotations

import os
from pathlib import Path

CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
TOPOLOGY = Path("/sys/devices/system/cpu")


def cgroup_cores(file: Path = CGROUP_LIMIT) -> float | None:
    """Return the cores that a container may use (Linux control groups, version 2), None where there is no limit."""
    try:
        quota, period = file.read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def physical_cores(topology: Path = TOPOLOGY) -> int:
    """Return the physical cores this process may use: hyper-threads of one core count once, container limits hold."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = set()
    for number in allowed:
        folder = topology / f"cpu{number}" / "topology"
        try:
            cores.add(((folder / "physical_package_id").read_text(), (folder / "core_id").read_text()))
        except OSError:
            cores.add((str(number), ""))
    limit = cgroup_cores()
    return max(1, min(len(cores), round(limit) if limit else len(cores)))
