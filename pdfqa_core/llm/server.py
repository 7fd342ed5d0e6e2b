"""Requests to a server over HTTP: a stop is noticed at once, and a busy server is asked again while nothing has come.

Knows nothing about language models: lines and JSON.
"""

from __future__ import annotations

import contextlib
import json
import math
import queue
import random
import socket
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress

if TYPE_CHECKING:
    import httpx

POLL = 0.05  # seconds between two looks at a stop signal
CONNECT = 10.0  # seconds until a connection must stand
QUICK = 3.0  # seconds of silence after which a question about the server itself is given up
RETRIES = 4
FIRST_WAIT = 1.0  # seconds before the first retry; doubled for each further one, up to LONGEST_WAIT
LONGEST_ANSWER = 20_000_000  # characters, with all that stands around the words
LONGEST_WAIT = 30.0
NEVER = (501, 505)  # statuses that say that the server cannot do it, not that it cannot now
LOOPBACK = ("localhost", "127.0.0.1", "::1")

_HINTS = {
    401: "Set PDFQA_LLM_API_KEY to a valid key.",
    403: "Set PDFQA_LLM_API_KEY to a key that may use this model.",
    404: "Check the address (it usually ends in /v1) and the model's name.",
    429: "The server is busy or the quota is used up; try again later.",
}


class StatusError(ModelError):
    """The server answered with something else than 200."""

    def __init__(self, what: str, hint: str, status: int) -> None:
        super().__init__(what, hint)
        self.status = status


class BusyError(ModelError):
    """The server may answer later; `wait` is in how many seconds, if it says so. Nothing of a reply has come."""

    def __init__(self, what: str, hint: str, words: str, wait: float | None = None) -> None:
        super().__init__(what, hint)
        self.words = words
        self.wait = wait


class Server:
    """A server whose addresses begin with `url`.

    `timeout` is the longest silence in seconds. `api_key` is sent as a bearer token and shown nowhere: not in errors,
    even if the server repeats it. Raises UsageError if the key has characters that no HTTP header may have.
    """

    def __init__(self, url: str, *, api_key: str = "", timeout: float = 120.0, retries: int = RETRIES) -> None:
        self.url = url
        self._key = api_key.strip()
        self._timeout = timeout
        self._retries = retries
        if not (self._key.isascii() and self._key.isprintable()):
            raise UsageError("PDFQA_LLM_API_KEY has characters that no key has.", "Set it again, in one line.")

    @cached_property
    def client(self) -> httpx.Client:
        """The connections to the server."""
        import httpx

        return httpx.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx.Timeout(self._timeout, connect=CONNECT),
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,  # a proxy cannot reach this machine's own server
        )

    def lines(
        self, method: str, url: str, body: Mapping[str, Any] | None = None, *, stop: StopSignal | None = None
    ) -> Generator[str | Progress, None, None]:
        """Yield the lines of the answer as they come, and Progress while a busy server is waited for.

        Ends early when `stop` is set. Asks again after 429, 5xx, a refused connection or one that ends before the first
        line; never afterwards. Raises StatusError, BusyError (after the last retry), ModelError (silence, broken off).
        """
        for attempt in range(self._retries + 1):
            request = _Request(self, method, url, body)
            try:
                yield from request.lines(stop)
                return
            except BusyError as busy:
                if attempt == self._retries:
                    raise
                pause = _pause(attempt) if busy.wait is None else min(busy.wait, LONGEST_WAIT)
                words = busy.words
            finally:
                request.cancel()
            yield from wait(pause, words, stop)
            if is_set(stop):
                return

    def json(
        self, method: str, url: str, body: Mapping[str, Any] | None = None, *, stop: StopSignal | None = None
    ) -> Generator[Progress, None, Any]:
        """Yield Progress while a busy server is waited for; return the answer, read as JSON.

        Raises what `lines` raises, ValueError if it is no JSON, StoppedError if `stop` is set.
        """
        text = ""
        for line in self.lines(method, url, body, stop=stop):
            if isinstance(line, Progress):
                yield line
            else:
                text += line + "\n"
        if is_set(stop):
            raise StoppedError
        return json.loads(text)

    def ask(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return a quick answer read as JSON, None if the server has none.

        Raises ModelError if it says nothing for some seconds.
        """
        import httpx

        try:
            response = self.client.request(method, url, json=body, timeout=QUICK)
            return response.json() if response.status_code == 200 else None
        except ValueError:
            return None
        except httpx.HTTPError as error:
            raise self.failure(error, begun=False) from error

    def check(self, response: httpx.Response) -> None:
        """Raise BusyError or StatusError unless the status is 200."""
        status = response.status_code
        if status == 200:
            return
        what = f"{self.url} answered {status}: {self.reason(response.read().decode('utf-8', 'replace'))}."
        hint = _HINTS.get(status, "Look at that server's log.")
        understood = "validation error" not in what  # llama-cpp-python answers 500 to what it does not understand
        if status == 429 or (status >= 500 and status not in NEVER and understood):
            raise BusyError(what, hint, "the server is busy", _retry_after(response.headers.get("Retry-After", "")))
        raise StatusError(what, hint, status)

    def reason(self, text: str) -> str:
        """Return the message of an error reply, shortened, without the key."""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            error = json.loads(text)["error"]
            text = str(error["message"] if isinstance(error, dict) else error)
        return self.without_key(" ".join(text.split()))[:200].rstrip(".") or "no reason given"

    def without_key(self, text: str) -> str:
        """Return a text of the server's with the key replaced by dots."""
        return text.replace(self._key, "•••") if self._key else text

    def failure(self, error: Exception, *, begun: bool) -> ModelError:
        """Return what an error of the connection means; `begun`: a part of the answer had come."""
        import httpx

        if isinstance(error, httpx.TimeoutException):
            return ModelError(f"{self.url} did not answer in time.", "Try again, or use a smaller model there.")
        reason = self.without_key(str(error)) or type(error).__name__
        if begun:
            return ModelError(f"{self.url} broke off in the middle of a reply: {reason}.", "Ask again.")
        hint = "Start the server or correct its address."
        words = "the server cannot be reached" if isinstance(error, httpx.ConnectError) else "the server broke off"
        if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
            return BusyError(f"{self.url} cannot be reached: {reason}.", hint, words)
        return ModelError(f"{self.url} cannot be reached: {reason}.", hint)


def cut(response: httpx.Response | None) -> None:
    """End the connection of a response that another thread reads: a read that waits for the server wakes up."""
    if response is None or response.is_closed:
        return
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _pause(attempt: int) -> float:
    """Return how many seconds to wait before the next retry: between half and the whole of a doubling time."""
    return min(FIRST_WAIT * 2.0**attempt, LONGEST_WAIT) * random.uniform(0.5, 1)  # noqa: S311 - spreads requests


def _retry_after(value: str) -> float | None:
    """Return a Retry-After header in seconds from now (RFC 9110, section 10.2.3), None without one."""
    if value.strip().isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def wait(seconds: float, words: str, stop: StopSignal | None) -> Iterator[Progress]:
    """Wait while counting down; end at once when `stop` is set."""
    end = time.monotonic() + seconds
    shown = 0
    while (left := end - time.monotonic()) > 0 and not is_set(stop):
        if math.ceil(left) != shown:
            shown = math.ceil(left)
            yield Progress(f"{words}, trying again in {shown} s")
        time.sleep(min(POLL, left))


def _lines(pieces: Iterable[str], url: str) -> Iterator[str]:
    """Yield the lines of an answer. Raises ModelError where it does not come to an end."""
    left, total = "", 0
    for piece in pieces:
        total += len(piece)
        if total > LONGEST_ANSWER:
            raise ModelError(f"{url} sent more than {LONGEST_ANSWER:,} characters.", "Look at that server's log.")
        *whole, left = (left + piece).split("\n")
        yield from (line.removesuffix("\r") for line in whole)
    if left:
        yield left


class _Request:
    """One answer, read by a thread of its own so that a stop is noticed while the server is silent."""

    def __init__(self, server: Server, method: str, url: str, body: Mapping[str, Any] | None) -> None:
        self._server = server
        self._wanted = (method, url)
        self._body = body
        self._queue: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._response: httpx.Response | None = None

    def lines(self, stop: StopSignal | None) -> Iterator[str]:
        """Yield the lines until the answer ends or `stop` is set."""
        threading.Thread(target=self._work, name="language model server", daemon=True).start()
        while not is_set(stop):
            try:
                item = self._queue.get(timeout=POLL)
            except queue.Empty:
                continue
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item

    def _work(self) -> None:
        import httpx

        begun = False
        try:
            with self._server.client.stream(*self._wanted, json=self._body) as response:
                self._response = response
                if self._cancelled.is_set():
                    return
                self._server.check(response)
                for line in _lines(response.iter_text(), self._server.url):
                    begun = True
                    self._queue.put(line)
                    if self._cancelled.is_set():
                        return
            self._queue.put(None)
        except httpx.HTTPError as error:
            failure = self._server.failure(error, begun=begun)
            failure.__cause__ = error
            self._queue.put(failure)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            self._queue.put(error)

    def cancel(self) -> None:
        """End the connection unless the answer has ended; a thread that waits for the server wakes up."""
        self._cancelled.set()
        cut(self._response)
