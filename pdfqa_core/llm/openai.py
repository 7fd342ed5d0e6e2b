"""An engine on another server: anything that speaks the OpenAI chat completions interface (llama-server, vLLM, …)."""

from __future__ import annotations

import contextlib
import json
import math
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.llm.base import engines
from pdfqa_core.llm.choices import check_choices, shares_of_first_tokens
from pdfqa_core.types import GREEDY, Message, Sampling, StopSignal

if TYPE_CHECKING:
    import httpx

TOP_TOKENS = 20  # as many as servers tell
POLL = 0.1  # seconds between two looks at a stop signal
CHARACTERS_PER_TOKEN = 3.5  # below the 4 of English prose: an estimate that is rather too long than too short
LOOPBACK = ("localhost", "127.0.0.1", "::1")

_HINTS = {
    401: "Set PDFQA_LLM_API_KEY to a valid key.",
    403: "Set PDFQA_LLM_API_KEY to a key that may use this model.",
    404: "Check the address (it usually ends in /v1) and the model's name.",
    429: "The server is busy or the quota is used up; try again later.",
}


def base_url(url: str) -> str:
    """Return the address that "/chat/completions" is appended to. Raises UsageError if it is no http address."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not the address of a server.", "Give one such as http://127.0.0.1:8080/v1.")
    return url.strip().rstrip("/") + ("/v1" if parts.path in ("", "/") else "")


@engines.register("openai")
class OpenAICompatible:
    """A model behind `url`.

    `model` "" means the first one that the server lists. `timeout` is the longest silence of the server in seconds.
    The server counts tokens its own way, so `count_tokens` is an estimate on the safe side (3.5 characters a token).
    """

    def __init__(
        self, url: str, *, model: str = "", api_key: str = "", context_size: int = 4096, timeout: float = 120.0
    ) -> None:
        self.url = base_url(url)
        self.name = model or urlsplit(self.url).netloc
        self.context_size = context_size
        self._model = model
        self._key = api_key
        self._timeout = timeout

    def _client(self) -> httpx.Client:
        import httpx

        return httpx.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx.Timeout(self._timeout, connect=10.0),
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,  # a proxy cannot reach this machine's own server
        )

    def model_names(self) -> list[str]:
        """Return the models that the server offers. Raises ModelError if it does not answer."""
        import httpx

        try:
            with self._client() as client:
                response = client.get(f"{self.url}/models")
                self._check(response)
                return [str(entry["id"]) for entry in response.json()["data"]]
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{self.url} does not list its models.", "Name the model in the settings.") from error

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return an estimate of the prompt's length in tokens."""
        return sum(math.ceil(len(message.content) / CHARACTERS_PER_TOKEN) + 8 for message in messages)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None,
        sampling: Sampling = GREEDY,
    ) -> Iterator[str]:
        """Yield the reply piece by piece; a stop is noticed within 0.1 s even while the server is silent.

        Raises ModelError if the server cannot be reached, refuses, or breaks off.
        """
        body = {**self._body(messages, max_tokens), "temperature": sampling.temperature, "seed": sampling.seed}
        if sampling.temperature > 0:
            body["top_p"] = sampling.top_p
        if schema is not None:
            named = {"name": "reply", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        request = _Request(self, body)
        try:
            yield from request.pieces(stop)
        finally:
            request.cancel()

    def _body(self, messages: Sequence[Message], max_tokens: int) -> dict[str, Any]:
        if not self._model:
            names = self.model_names()
            if not names:
                raise ModelError(f"{self.url} offers no model.", "Load a model on that server.")
            self._model = self.name = names[0]
        return {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": max_tokens,
            "stream": True,
        }

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the reply, scaled so that they add up to 1.

        The server tells its 20 most likely first tokens; a choice gets the tokens that it begins with, or that begin
        with it. So choices must differ in their first token, and one that is not among the 20 gets 0.
        Raises UsageError (no choices, an empty one, two alike), ModelError (no answer, no probabilities, choices that
        cannot be told apart), StoppedError if `stop` is set.
        """
        check_choices(choices)
        body = {**self._body(messages, 1), "temperature": 0.0, "logprobs": True, "top_logprobs": TOP_TOKENS}
        waiting = _Waiting(lambda: self._first_tokens({**body, "stream": False}))
        return shares_of_first_tokens(choices, waiting.result(stop))

    def _first_tokens(self, body: Mapping[str, Any]) -> list[tuple[str, float]]:
        import httpx

        try:
            with self._client() as client:
                response = client.post(f"{self.url}/chat/completions", json=body)
                self._check(response)
                found = response.json()["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
                return [(str(token["token"]), float(token["logprob"])) for token in found]
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ModelError(
                f"{self.url} does not tell the probabilities of tokens.",
                "Use a server that offers logprobs (llama-server, vLLM), or the local engine.",
            ) from error

    def send(self, body: Mapping[str, Any], opened: Callable[[httpx.Response], bool]) -> Iterator[str]:
        """Yield the pieces of one reply; `opened` gets the response and says whether to read it."""
        import httpx

        try:
            with self._client() as client, client.stream("POST", f"{self.url}/chat/completions", json=body) as response:
                if not opened(response):
                    return
                self._check(response)
                for line in response.iter_lines():
                    if line.startswith("data:") and (data := line.removeprefix("data:").strip()) != "[DONE]":
                        yield self._piece(data)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def _piece(self, data: str) -> str:
        try:
            event = json.loads(data)
            if "error" in event:
                raise ModelError(f"{self.url} reports: {_reason(data)}.", "Look at that server's log.")
            choices = event["choices"]
            return str(choices[0]["delta"].get("content") or "") if choices else ""
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{self.url} sent something that is no chat completion.", "Check the address; it usually ends in /v1."
            ) from error

    def _check(self, response: httpx.Response) -> None:
        if response.status_code != 200:
            reason = _reason(response.read().decode("utf-8", "replace"))
            hint = _HINTS.get(response.status_code, "Look at that server's log.")
            raise ModelError(f"{self.url} answered {response.status_code}: {reason}.", hint)

    def _unreachable(self, error: Exception) -> ModelError:
        import httpx

        if isinstance(error, httpx.TimeoutException):
            return ModelError(f"{self.url} did not answer in time.", "Try again, or use a smaller model there.")
        return ModelError(f"{self.url} cannot be reached: {error}.", "Start the server or correct its address.")


def _reason(text: str) -> str:
    """Return the message of an error reply, shortened."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        error = json.loads(text)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    return " ".join(text.split())[:200].rstrip(".") or "no reason given"


class _Waiting:
    """Work done by a thread of its own, so that a stop is noticed meanwhile."""

    def __init__(self, work: Callable[[], list[tuple[str, float]]]) -> None:
        self._work = work
        self._done: queue.SimpleQueue[list[tuple[str, float]] | Exception] = queue.SimpleQueue()

    def result(self, stop: StopSignal | None) -> list[tuple[str, float]]:
        threading.Thread(target=self._run, name="language model server", daemon=True).start()
        while stop is None or not stop.is_set():
            with contextlib.suppress(queue.Empty):
                found = self._done.get(timeout=POLL)
                if isinstance(found, Exception):
                    raise found
                return found
        raise StoppedError

    def _run(self) -> None:
        try:
            self._done.put(self._work())
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            self._done.put(error)


class _Request:
    """One reply, read by a thread of its own so that a stop is noticed while the server is silent."""

    def __init__(self, engine: OpenAICompatible, body: Mapping[str, Any]) -> None:
        self._engine = engine
        self._body = body
        self._queue: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._response: httpx.Response | None = None

    def pieces(self, stop: StopSignal | None) -> Iterator[str]:
        threading.Thread(target=self._work, name="language model server", daemon=True).start()
        while stop is None or not stop.is_set():
            try:
                item = self._queue.get(timeout=POLL)
            except queue.Empty:
                continue
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            if item:
                yield item

    def _work(self) -> None:
        def opened(response: httpx.Response) -> bool:
            self._response = response
            return not self._cancelled.is_set()

        try:
            for piece in self._engine.send(self._body, opened):
                self._queue.put(piece)
                if self._cancelled.is_set():
                    return
            self._queue.put(None)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            self._queue.put(error)

    def cancel(self) -> None:
        """End the connection; a thread that waits for the server wakes up."""
        self._cancelled.set()
        response = self._response
        if response is not None and not response.is_closed:
            connection = response.extensions.get("network_stream")
            wire = connection.get_extra_info("socket") if connection is not None else None
            if wire is not None:
                with contextlib.suppress(OSError):
                    wire.shutdown(socket.SHUT_RDWR)
