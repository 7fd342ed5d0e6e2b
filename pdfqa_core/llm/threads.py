"""How many processor cores there are to compute with."""

from __future__ import annotations

import os
import time
from pathlib import Path

BUSY = 0.7  # cores that others use before one is left to them
WATCHED = 0.25  # seconds over which the use of the processor is taken
CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
TOPOLOGY = Path("/sys/devices/system/cpu")


def cgroup_cores(file: Path = CGROUP_LIMIT) -> float | None:
    """Return the cores that a container may use (Linux control groups, version 2), None without a limit."""
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


def default_threads() -> int:
    """Return how many threads compute best now: one per physical core, less one if other programs keep one busy.

    The threads of llama.cpp wait for each other after every operation, so that one on a busy core slows all. Watches
    the processor for a quarter of a second.
    """
    import psutil

    cores = physical_cores()
    if cores == 1:
        return 1
    process = psutil.Process()
    psutil.cpu_percent()
    process.cpu_percent()
    time.sleep(WATCHED)
    used = psutil.cpu_percent() / 100 * (psutil.cpu_count() or cores)
    others = used - process.cpu_percent() / 100
    return cores - 1 if others > BUSY else cores
