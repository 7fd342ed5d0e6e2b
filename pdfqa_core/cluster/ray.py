"""A cluster of Ray, which is optional: joined at the first task, left at the end of the program.

Ray does a task again when its worker dies (Moritz et al. 2018, "Ray: A Distributed Framework for Emerging AI
Applications"); here each result is taken once, and what is not wanted any more is cancelled.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pdfqa_core import __version__
from pdfqa_core.cluster.base import ClusterError, Item, LostError, Result
from pdfqa_core.errors import PdfQAError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.streaming import is_set

LOCAL = "local"
INSTALL = "Install it with: pip install -r requirements-cluster.txt - or unset PDFQA_CLUSTER."
ANSWERS_WITHIN = 5.0  # seconds in which a cluster's address has to accept a connection
TRIES_AGAIN = 3  # times that a task is done again whose worker died, or was ended because memory was short
AHEAD = 2  # tasks that are handed over for each that can be under way
STOPPING = 2.0  # seconds that a task has to end by itself; one may not notice while its worker still imports
LEAVING = 10.0  # seconds that the end of a cluster is waited for at most
_POLL = 0.2  # seconds between looks at the stop signal
_DEFAULT_PORT = 6379


@dataclass(frozen=True)
class _Done:
    """What a task returned, or the error of ours that it raised."""

    value: Any = None
    error: PdfQAError | None = None


_shared: dict[str, Any] = {}  # on a worker: what the tasks of the last call share, by the call's name


def _with_shared(function: Callable[..., Any], call: str, references: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a function of an item alone; what all tasks of a call share is fetched by the first one here."""
    if call not in _shared:
        import ray

        _shared.clear()
        _shared[call] = ray.get(references[0])
    return partial(function, _shared[call])


class _Calls:
    """Which tasks of which calls have begun, and which calls are over; one actor of a program's cluster.

    Ray aborts the whole program where a task is cancelled while a worker takes it over. So those that have begun alone
    are cancelled, and one that begins too late does nothing.
    """

    def __init__(self) -> None:
        self._begun: dict[str, set[int]] = {}
        self._over: set[str] = set()

    def begin(self, call: str, index: int) -> bool:
        """Note that a task begins; return whether its call still wants it."""
        if call in self._over:
            return False
        self._begun.setdefault(call, set()).add(index)
        return True

    def end(self, call: str) -> set[int]:
        """End a call; return which of its tasks have begun."""
        self._over.add(call)
        return self._begun.pop(call, set())


def _do(
    version: str,
    calls: Any,
    call: str,
    index: int,
    function: Callable[..., Any],
    item: Any,
    references: Sequence[Any] = (),
) -> _Done:
    """Do a task on a worker."""
    if version != __version__:
        return _Done(
            error=ClusterError(
                f"A worker on {socket.gethostname()} has PDFQA {__version__}, this program is {version}.",
                "Install the same version on every computer of the cluster.",
            )
        )
    import ray

    if not ray.get(calls.begin.remote(call, index)):
        return _Done()
    try:
        return _Done((_with_shared(function, call, references) if references else function)(item))
    except PdfQAError as error:
        return _Done(error=error)


def _cancel(ray: Any, calls: Any, call: str, under_way: Mapping[Any, int]) -> None:
    """End a call's tasks; a worker that goes on all the same is killed, and another takes its place."""
    try:
        begun = ray.get(calls.end.remote(call), timeout=LEAVING)
    except ray.exceptions.RayError:  # the cluster has gone, and its tasks with it
        return
    running = [reference for reference, index in under_way.items() if index in begun]
    for reference in running:
        ray.cancel(reference)
    if running:
        _, left = ray.wait(running, num_returns=len(running), timeout=STOPPING)
        for reference in left:
            ray.cancel(reference, force=True)


def named_cluster() -> RayCluster | None:
    """Return the cluster that PDFQA_CLUSTER names, None where it names none. Connects to nothing yet."""
    address = os.environ.get("PDFQA_CLUSTER", "").strip()
    return RayCluster(address) if address else None


class RayCluster:
    """A cluster at `address` (HOST:PORT, or ray://HOST:PORT), the one that runs here ("auto"), or a new one ("local").

    `cpus` are those of a new one, by default all. A process can be in one cluster at a time.
    """

    def __init__(self, address: str, cpus: int | None = None, memory: int | None = None) -> None:
        self.address = address
        self._cpus = cpus
        self._memory = memory  # bytes of a new cluster's object store
        self._lock = threading.Lock()
        self._joined = False
        self._calls: Any = None
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()

    def _ray(self) -> Any:
        """Return the module ray, connected. Raises ClusterError."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reports usage to its makers otherwise
        os.environ.setdefault("RAY_task_oom_retries", str(TRIES_AGAIN))  # for ever otherwise, without a word
        try:
            import ray
        except ImportError as error:
            raise ClusterError("PDFQA_CLUSTER is set, but Ray is not installed.", INSTALL) from error
        with self._lock:
            if not self._joined:
                self._join(ray)
                self._calls = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Calls).remote()
                self._joined = True
        return ray

    def _join(self, ray: Any) -> None:
        """Connect in a thread that stays until `close`.

        In the main thread Ray would take over the program's signals, and the processes of a local cluster end with the
        thread that started them.
        """
        if self.address not in (LOCAL, "auto"):
            self._check_address()
        options: dict[str, Any] = {"address": self.address, "log_to_driver": False, "configure_logging": False}
        if self.address == LOCAL:
            options |= {
                "num_cpus": self._cpus,
                "object_store_memory": self._memory,
                "include_dashboard": False,
            }
        failed: list[BaseException] = []
        joined = threading.Event()

        def stay() -> None:
            try:
                ray.init(**options)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                failed.append(error)
                return
            finally:
                joined.set()
            self._leave.wait()
            ray.shutdown()

        self._leave.clear()
        self._thread = threading.Thread(target=stay, name="cluster", daemon=True)
        self._thread.start()
        joined.wait()
        if failed:
            reason = (str(failed[0]).splitlines() or [type(failed[0]).__name__])[0][:300]
            raise ClusterError(f"The cluster at {self.address!r} cannot be joined ({reason}).", _HINT) from failed[0]

    def _check_address(self) -> None:
        """Raise ClusterError at once where nobody listens: Ray itself would try for a minute."""
        host, _, port = self.address.removeprefix("ray://").rpartition(":")
        if not port.isdecimal():
            host, port = self.address, str(_DEFAULT_PORT)
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_WITHIN).close()
        except (OSError, OverflowError) as error:
            raise ClusterError(f"The cluster at {self.address!r} does not answer ({error}).", _HINT) from error

    @property
    def workers(self) -> int:
        """How many tasks can be under way at the same time: the CPUs of all nodes. Raises ClusterError."""
        return max(1, int(self._ray().cluster_resources().get("CPU", 0)))

    def describe(self) -> str:
        """Say where the cluster is, how many nodes and CPUs it has. Raises ClusterError."""
        nodes = sum(1 for node in self._ray().nodes() if node["Alive"])
        return f"Ray at {self.address!r}: {nodes} node{'s' * (nodes != 1)}, {self.workers} CPUs"

    def map(
        self, function: Callable[..., Result], items: Sequence[Item], stop: StopSignal | None = None, shared: Any = None
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield (index, result) as tasks are done, see `Cluster.map`; twice as many as CPUs are handed over at most."""
        ray = self._ray()
        task = ray.remote(num_cpus=1, max_retries=TRIES_AGAIN)(_do)
        most, waiting = AHEAD * self.workers, iter(enumerate(items))
        under_way: dict[Any, int] = {}
        # in a list, so that each worker fetches it once instead of Ray for every task
        call, given = uuid.uuid4().hex, [ray.put(shared)] if shared is not None and items else []
        try:
            while True:
                while len(under_way) < most and (following := next(waiting, None)) is not None:
                    index, item = following
                    under_way[task.remote(__version__, self._calls, call, index, function, item, given)] = index
                if not under_way:
                    return
                if is_set(stop):
                    raise StoppedError
                ready, _ = ray.wait(list(under_way), num_returns=1, timeout=_POLL)
                for reference in ready:
                    done = self._result(ray, reference)
                    index = under_way.pop(reference)
                    if done.error is not None:
                        raise done.error
                    yield index, done.value
        finally:
            _cancel(ray, self._calls, call, under_way)

    def _result(self, ray: Any, reference: Any) -> _Done:
        errors = ray.exceptions
        try:
            done: _Done = ray.get(reference)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as gone:
            raise LostError(
                "A worker of the cluster ended in the middle of its work, again and again.",
                "Look into its logs (ray logs); memory may be short there.",
            ) from gone
        except errors.RayError as error:
            reason = (str(error).strip().splitlines() or [""])[-1][:300]
            raise ClusterError(
                f"A worker of the cluster failed ({reason}).",
                f"Check that every computer of it has PDFQA {__version__} with all its packages.",
            ) from error
        return done

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        with self._lock:
            if self._joined and self._thread is not None:
                self._leave.set()
                self._thread.join(LEAVING)
            self._joined = False


_HINT = "Start one with: ray start --head - or correct PDFQA_CLUSTER."
