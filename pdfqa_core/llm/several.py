"""One model behind several OpenAI-compatible servers: the least busy one answers, and another where one fails.

A server that fails is asked again in the background, after a time that doubles, until it answers; meanwhile requests go
to the others. A reply that has begun is never taken up by another server: what was shown would not fit what follows.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.interfaces import GREEDY, Message, Sampling, StopSignal, Stream, Usage
from pdfqa_core.llm.openai import OpenAICompatible
from pdfqa_core.llm.server import FIRST_WAIT, RETRIES, ServerError, StatusError, wait
from pdfqa_core.streaming import is_set, result_of
from pdfqa_core.types import Progress

LONGEST_REST = 60.0  # seconds for which a server that fails is left alone at most
OWN_FAULT = (400, 413, 422)  # statuses that another server would give too
T = TypeVar("T")
_log = logging.getLogger(__name__)


def addresses(url: str) -> list[str]:
    """Return the addresses in a setting, which are separated by commas or spaces, each once."""
    return list(dict.fromkeys(re.split(r"[\s,]+", url.strip().strip(",")))) if url.strip(" ,") else []


def servers_at(url: str, make: Callable[..., Any]) -> OpenAICompatible | Several:
    """Return the engine for the addresses in a setting; `make(address)` makes the one for an address.

    Raises UsageError for an address that is none.
    """
    found = addresses(url)
    if len(found) < 2:
        one: OpenAICompatible = make(found[0] if found else url)
        return one
    return Several([make(one, retries=0) for one in found])  # another one is asked instead of waiting


@dataclass(eq=False)
class _Place:
    """A server, how many calls it answers now, and how often it failed since it answered last (0: it works)."""

    server: OpenAICompatible
    calls: int = 0
    failures: int = 0
    timer: threading.Timer | None = None


class Several:
    """The same model on several servers. Safe to use from several threads."""

    loaded = True
    threads = 0
    offload = None

    def __init__(self, servers: Sequence[OpenAICompatible], *, rest: float = FIRST_WAIT, rounds: int = RETRIES) -> None:
        if not servers:
            raise UsageError("There is no server.", "Give at least one address.")
        self._places = [_Place(one) for one in servers]
        self._rest = rest
        self._rounds = rounds
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The addresses, as in the setting."""
        return ", ".join(place.server.url for place in self._places)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._places[0].server.name

    @property
    def context_size(self) -> int:
        """The smallest context of all, in tokens: a prompt may go to any of them."""
        return min(place.server.context_size for place in self._places)

    @property
    def parallel(self) -> int:
        """How many requests are worth sending at the same time: to those that work."""
        return sum(place.server.parallel for place in self._places if not place.failures) or 1

    @property
    def working(self) -> dict[str, bool]:
        """Whether each server answered the last time."""
        return {place.server.url: not place.failures for place in self._places}

    def model_names(self) -> list[str]:
        """Return the models that all servers offer that answer. Raises ModelError if none answers."""
        offered: list[list[str]] = []
        failed: ModelError | None = None
        for place in self._places:
            try:
                offered.append(place.server.model_names())
            except ModelError as error:
                failed = failed or error
        if not offered and failed is not None:
            raise failed
        return [name for name in offered[0] if all(name in names for names in offered)]

    def unload(self) -> None:
        """Stop looking after servers that fail; the models are the servers'."""
        with self._lock:
            for place in self._places:
                if place.timer is not None:
                    place.timer.cancel()
                    place.timer = None

    # -------------------------------------------------------------- choosing a server

    @contextmanager
    def _taken(self, tried: Sequence[_Place]) -> Iterator[_Place]:
        """Give the least busy server that was not tried, one that works if there is any; count the call."""
        with self._lock:
            place = min(
                (one for one in self._places if one not in tried), key=lambda one: (bool(one.failures), one.calls)
            )
            place.calls += 1
        try:
            yield place
        finally:
            with self._lock:
                place.calls -= 1

    def _works(self, place: _Place) -> None:
        with self._lock:
            if place.failures:
                _log.warning("%s answers again", place.server.url)
            place.failures = 0

    def _fails(self, place: _Place, error: Exception) -> None:
        """Leave a server alone for a while, then ask whether it answers."""
        with self._lock:
            place.failures += 1
            seconds = min(self._rest * 2.0 ** min(place.failures - 1, 16), LONGEST_REST)
            if place.timer is None:
                _log.warning("%s is left out until it answers: %s", place.server.url, error)
                place.timer = threading.Timer(seconds, self._look_after, [place])
                place.timer.daemon = True
                place.timer.start()

    def _look_after(self, place: _Place) -> None:
        alive = place.server.alive()
        with self._lock:
            if place.timer is None:  # unloaded meanwhile
                return
            place.timer = None
        if alive:
            self._works(place)
        else:
            self._fails(place, ModelError("it does not answer"))

    def _in_turn(
        self, work: Callable[[_Place], Generator[str | Progress | Usage, None, T]], stop: StopSignal | None
    ) -> Generator[str | Progress | Usage, None, T]:
        """Do something at one server after the other until one does it; after all failed wait and begin again.

        Raises what the first of them raised in the last round, what the model is to blame for, StoppedError.
        """
        for attempt in range(self._rounds + 1):
            tried: list[_Place] = []
            failed: ModelError | None = None
            while len(tried) < len(self._places):
                if is_set(stop):
                    raise StoppedError
                with self._taken(tried) as place:
                    begun = known = False
                    try:
                        yield from place.server.prepare(stop)
                        known = True
                        with closing(work(place)) as going:
                            try:
                                while True:
                                    item = next(going)
                                    begun = begun or bool(isinstance(item, str) and item)
                                    yield item
                            except StopIteration as end:
                                self._works(place)
                                result: T = end.value
                                return result
                    except ModelError as error:
                        blameless = known and not isinstance(error, ServerError)  # another model would say the same
                        if blameless or (isinstance(error, StatusError) and error.status in OWN_FAULT):
                            raise
                        self._fails(place, error)
                        if begun:
                            raise
                        failed = failed or error
                    tried.append(place)
                if len(tried) < len(self._places):
                    yield Progress("asking another server")
            assert failed is not None
            if attempt == self._rounds:
                raise failed
            yield from wait(self._rest * 2.0**attempt, "no server answers", stop)
        raise AssertionError("unreachable")

    # -------------------------------------------------------------- calls

    def prepare(self, stop: StopSignal | None = None) -> Generator[Progress, None, None]:
        """Get to know one server; the others when they are asked first. Raises ModelError if none answers."""

        def nothing_more(_place: _Place) -> Generator[str | Progress | Usage, None, None]:
            yield from ()

        for item in self._in_turn(nothing_more, stop):
            if isinstance(item, Progress):
                yield item

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the prompt's length in tokens: a server's count where it counts, else an estimate."""
        with self._taken(()) as place:
            return place.server.count_tokens(messages)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, stop: StopSignal | None = None,
        schema: Mapping[str, object] | None = None, sampling: Sampling = GREEDY,
    ) -> Stream:  # fmt: skip
        """Yield the reply's pieces, Progress while servers are waited for, and last one Usage.

        Raises ModelError if none can be reached, or one breaks off in the middle of its reply.
        """

        def reply(place: _Place) -> Generator[str | Progress | Usage, None, None]:
            yield from place.server.stream(messages, max_tokens=max_tokens, stop=stop, schema=schema, sampling=sampling)

        try:
            yield from self._in_turn(reply, stop)
        except StoppedError:
            yield Usage(finish_reason="stopped")

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the reply, as `OpenAICompatible.choose`."""

        def chosen(place: _Place) -> Generator[str | Progress | Usage, None, Mapping[str, float]]:
            yield from ()
            return place.server.choose(messages, choices, stop=stop)

        return result_of(self._in_turn(chosen, stop))
