"""An engine on another server: anything that speaks the OpenAI chat completions interface (llama-server, vLLM, …)."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from pdfqa_core.errors import ModelError, StoppedError, UsageError
from pdfqa_core.interfaces import GREEDY, Message, Sampling, StopSignal, Stream, Usage
from pdfqa_core.llm.base import check_choices, engines, shares_of_first_tokens
from pdfqa_core.llm.server import RETRIES, Server, StatusError
from pdfqa_core.streaming import is_set, result_of
from pdfqa_core.text import Pieces, without_control_tokens
from pdfqa_core.types import Progress

TOP_TOKENS, TOP_OF_PLAIN = 20, 5  # servers give no more, with a chat and with a plain text
CHARACTERS_PER_TOKEN_AT_MOST = 100  # a server that writes more has lost count
CHARACTERS_PER_TOKEN = 3.5  # below the 4 of English prose: an estimate that is rather too long than too short
TOKENS_AROUND_MESSAGE = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server wants to be told what goes beyond messages, temperature and seed.

    `schema_inside`: the schema stands in "response_format" itself, as llama.cpp had it before OpenAI. `all_sampling`:
    settings that OpenAI does not know are sent. `usage`: the number of tokens is asked for.
    """

    schema_inside: bool = False
    all_sampling: bool = True
    usage: bool = True

    def options(self, schema: Mapping[str, Any] | None, sampling: Sampling) -> dict[str, Any]:
        """Return the part of a request that depends on the dialect."""
        options: dict[str, Any] = {"stream_options": {"include_usage": True}} if self.usage else {}
        if schema is not None and self.schema_inside:
            options["response_format"] = {"type": "json_object", "schema": dict(schema)}
        elif schema is not None:
            named = {"name": "reply", "strict": True, "schema": dict(schema)}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        if sampling.temperature > 0:
            options["top_p"] = sampling.top_p
            if self.all_sampling:  # llama-server and vLLM name the penalty differently
                options |= {"top_k": sampling.top_k, "min_p": sampling.min_p}
                options |= dict.fromkeys(("repeat_penalty", "repetition_penalty"), sampling.repeat_penalty)
        return options


DIALECTS = (
    *(Dialect(), Dialect(schema_inside=True), Dialect(all_sampling=False), Dialect(True, all_sampling=False)),
    *(Dialect(all_sampling=False, usage=False), Dialect(True, all_sampling=False, usage=False)),
)
CHAT, CONTINUE = "/chat/completions", "/completions"
REFUSALS = (400, 422, 500)  # of a request that the server does not understand


def base_url(url: str) -> str:
    """Return the address that "/chat/completions" is appended to; "/completions" at its end stays.

    Raises UsageError if it is no http address, or several, or if it holds a password or a query, which would be shown
    to everyone.
    """
    if len(re.split(r"[\s,]+", url.strip())) > 1:
        raise UsageError(
            "There is more than one address of a server.", "Give one address; a proxy can spread requests over several."
        )
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not the address of a server.", "Give one such as http://127.0.0.1:8080/v1.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"The address of the server at {parts.hostname} holds more than host and path.",
            "Leave out user name, password and query; set PDFQA_LLM_API_KEY to the key.",
        )
    return url.strip().rstrip("/") + ("/v1" if parts.path in ("", "/") else "")


@engines.register("openai", "asks an OpenAI-compatible server")
class OpenAICompatible:
    """A model behind `url`.

    An address that ends in "/completions" is asked to go on with a plain text, for base models and such as
    gpt-3.5-turbo-instruct. `model` "" means the first one that the server lists. `timeout` is the longest silence of
    the server in seconds, `retries` how often a busy one is asked again. `context_size` is replaced by the server's own
    if it reports one (llama-server, vLLM), at the first contact; tokens are counted by the server where it can (these
    and llama-cpp-python), else estimated on the safe side (3.5 characters a token). `parallel` is how many requests are
    sent at the same time where there are many to send: servers answer several at once, or let them wait.
    """

    parallel = 4
    loaded = True
    threads = 0
    waiting = 0
    offload = None

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        api_key: str = "",
        context_size: int = 4096,
        timeout: float = 120.0,
        retries: int = RETRIES,
    ) -> None:
        self.url = base_url(url).removesuffix(CHAT)
        self._continues = self.url.endswith(CONTINUE)  # a plain text
        self._root = self.url.removesuffix(CONTINUE).removesuffix("/v1")
        self._base = self.url.removesuffix(CONTINUE)
        self._asked = f"{self._base}{CONTINUE if self._continues else CHAT}"
        self.name = model or urlsplit(self.url).netloc
        self.context_size = context_size
        self._model = model
        self._server = Server(self.url, api_key=api_key, timeout=timeout, retries=retries)
        self._known = False  # whether the server has been asked for its models and its context
        self._count: Callable[[Sequence[Message]], int] | None = None
        self._dialects: tuple[Dialect, ...] = DIALECTS

    # -------------------------------------------------------------- getting to know the server

    def prepare(self, stop: StopSignal | None = None) -> Generator[Progress, None, None]:
        """Ask the server, once, for its models and its context; Progress while it is busy.

        Raises ModelError if it does not answer, StoppedError if `stop` is set.
        """
        if self._known:
            return
        listed = yield from self._listed(stop)
        if not self._model:
            if not listed:
                raise ModelError(f"{self.url} offers no model.", "Load a model on that server.")
            self._model = self.name = listed[0]["id"]
        try:
            self.context_size = self._told_context(listed) or self.context_size
            self._count = self._way_of_counting()
        except ModelError as error:
            _log.warning("the context is not known and tokens are estimated: %s", error)
        self._known = True

    def _listed(self, stop: StopSignal | None) -> Generator[Progress, None, list[dict[str, Any]]]:
        try:
            reply = yield from self._server.json("GET", f"{self._base}/models", stop=stop)
            return [{**entry, "id": str(entry["id"])} for entry in reply["data"]]
        except (StatusError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, StatusError) and error.status not in (404, 405, 501):
                raise
            if self._model:
                return []  # it need not list what it is asked for by name
            raise ModelError(f"{self.url} does not list its models.", "Name the model in the settings.") from error

    def _told_context(self, listed: Sequence[Mapping[str, Any]]) -> int:
        """Return the context in tokens as vLLM or llama-server reports it, 0 for other servers."""
        own = next((entry for entry in listed if entry["id"] == self._model), {})
        told = own.get("max_model_len")
        if not told:
            properties = self._server.ask("GET", f"{self._root}/props")
            generation = properties.get("default_generation_settings") if isinstance(properties, dict) else None
            told = generation.get("n_ctx") if isinstance(generation, dict) else None
        return told if isinstance(told, int) and told > 0 else 0

    def model_names(self) -> list[str]:
        """Return the models that the server offers. Raises ModelError if it does not answer."""
        return [entry["id"] for entry in result_of(self._listed(None))]

    def unload(self) -> None:
        """Do nothing: the model is the server's."""

    # -------------------------------------------------------------- tokens

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the prompt's length in tokens: the server's count where it counts, else an estimate."""
        try:
            found = self._count(messages) if self._count is not None else 0
        except ModelError as error:
            _log.warning("tokens are estimated: %s", error)
            found = 0
        return found or _estimate(messages)

    def _way_of_counting(self) -> Callable[[Sequence[Message]], int] | None:
        """Return the way in which this server counts the tokens of messages, None if it does not."""
        ways = (self._vllm_count, self._llama_server_count, self._plain_count)
        return next((way for way in ways if way([Message("user", "?")])), None)

    def _vllm_count(self, messages: Sequence[Message]) -> int:
        body = {"model": self._model, "messages": _rows(messages), "add_generation_prompt": True}
        return _number(self._server.ask("POST", f"{self._root}/tokenize", body), "count")

    def _llama_server_count(self, messages: Sequence[Message]) -> int:
        prompt = self._server.ask("POST", f"{self._root}/apply-template", {"messages": _rows(messages)})
        if not isinstance(prompt, dict) or not isinstance(prompt.get("prompt"), str):
            return 0
        body = {"content": prompt["prompt"], "add_special": True}
        reply = self._server.ask("POST", f"{self._root}/tokenize", body)
        return len(reply["tokens"]) if isinstance(reply, dict) and isinstance(reply.get("tokens"), list) else 0

    def _plain_count(self, messages: Sequence[Message]) -> int:
        """Return the count of llama-cpp-python's server, which does not know about messages."""
        text = "\n".join(message.content for message in messages)
        count = _number(self._server.ask("POST", f"{self._root}/extras/tokenize/count", {"input": text}), "count")
        return count + TOKENS_AROUND_MESSAGE * len(messages) if count else 0

    # -------------------------------------------------------------- replies

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None,
        sampling: Sampling = GREEDY,
    ) -> Stream:
        """Yield the reply's pieces, Progress while a busy server is waited for, and last one Usage.

        A stop is noticed within 0.1 s even while the server is silent. Raises ModelError if the server cannot be
        reached, refuses, or breaks off.
        """
        try:
            if is_set(stop):
                raise StoppedError
            yield from self.prepare(stop)
            body = {**self._body(messages, max_tokens), "stream": True}
            body |= {"temperature": sampling.temperature, "seed": sampling.seed}
            usage = yield from self._understood(body, schema, sampling, stop)
            yield usage
        except StoppedError:
            yield Usage(finish_reason="stopped")

    def _understood(
        self, body: dict[str, Any], schema: Mapping[str, Any] | None, sampling: Sampling, stop: StopSignal | None
    ) -> Generator[str | Progress, None, Usage]:
        """Ask in one dialect after the other until the server takes one, which is kept for the next reply."""
        refused: StatusError | None = None
        asked: list[dict[str, Any]] = []
        for dialect in self._dialects:
            options = dialect.options(schema, sampling)
            if options in asked:
                continue
            asked.append(options)
            try:
                usage = yield from self._reply(body | options, stop)
            except StatusError as error:
                if error.status not in REFUSALS:
                    raise
                refused = refused or error
            else:
                if refused is not None:
                    _log.warning("%s refuses a part of what was asked for: %s", self.url, refused)
                    self._dialects = self._dialects[self._dialects.index(dialect) :]
                return usage
        assert refused is not None
        raise refused

    def _body(self, messages: Sequence[Message], max_tokens: int) -> dict[str, Any]:
        rows = _rows(messages)
        said = {"prompt": "\n\n".join(row["content"] for row in rows)} if self._continues else {"messages": rows}
        return {"model": self._model, **said, "max_tokens": max_tokens}

    def _reply(self, body: Mapping[str, Any], stop: StopSignal | None) -> Generator[str | Progress, None, Usage]:
        """Yield the pieces of one streamed reply (server-sent events); return what it took."""
        usage, reason, events, strange = Usage(), "", 0, False
        lines = self._server.lines("POST", self._asked, body, stop=stop)
        pieces, room = Pieces(), self._room(body)
        with closing(lines):
            for line in lines:
                if isinstance(line, Progress):
                    yield line
                elif line.startswith("data:"):
                    events += 1
                    data = line.removeprefix("data:").strip()
                    if data == "[DONE]":
                        reason = reason or "stop"
                        continue
                    piece, ended, counted = self._event(data)
                    reason, usage = ended or reason, counted or usage
                    piece = pieces.take(piece)[:room]
                    room -= len(piece)
                    if piece:
                        yield piece
                    if room <= 0:
                        _log.warning("%s does not stop at max_tokens; its reply is cut off", self.url)
                        reason = "length"
                        break
                else:
                    strange = strange or bool(line.strip())
        if last := pieces.rest():
            yield last
        if is_set(stop) or reason:
            return replace(usage, finish_reason="stopped" if is_set(stop) else reason)
        if strange and not events:
            raise self._strange()
        if not events:
            raise ModelError(
                f"{self.url} ended its reply before the first word.",
                "The prompt may be longer than its context: use fewer passages, or set a larger context there.",
            )
        raise ModelError(f"{self.url} broke off in the middle of a reply.", "Ask again.")

    @staticmethod
    def _room(body: Mapping[str, Any]) -> int:
        """Return how many characters a reply of so many tokens can have at most."""
        return CHARACTERS_PER_TOKEN_AT_MOST * int(body["max_tokens"])

    def _event(self, data: str) -> tuple[str, str, Usage | None]:
        """Return the text of one event, why the reply ends with it ("": it does not), and its tokens if given."""
        try:
            event = json.loads(data)
            if "error" in event:
                reason = self._server.reason(data)
                raise ModelError(f"{self.url} reports: {reason}.", "Look at that server's log.")
            counted = _counted(event.get("usage"))
            if not event["choices"]:
                return "", "", counted
            choice = event["choices"][0]
            text = choice["text"] if self._continues else choice["delta"].get("content")
            return str(text or ""), str(choice.get("finish_reason") or ""), counted
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._strange() from error

    def _strange(self) -> ModelError:
        return ModelError(
            f"{self.url} sent something that is no {'' if self._continues else 'chat '}completion.",
            "Check the address; it usually ends in /v1.",
        )

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the probability of each of `choices` as the reply, scaled so that they add up to 1.

        The server gives its 20 most likely first tokens (5 of a plain text); a choice gets the tokens that it begins
        with, or that begin with it. So choices must differ in their first token, and one that is not among these gets
        0.
        Raises UsageError (no choices, an empty one, two alike), ModelError (no answer, no probabilities, choices that
        cannot be told apart), StoppedError if `stop` is set.
        """
        check_choices(choices)
        result_of(self.prepare(stop))
        told = {"logprobs": TOP_OF_PLAIN} if self._continues else {"logprobs": True, "top_logprobs": TOP_TOKENS}
        body = self._body(messages, 1) | {"temperature": 0.0} | told
        try:
            reply = result_of(self._server.json("POST", self._asked, body, stop=stop))
            found = reply["choices"][0]["logprobs"]
            if self._continues:
                tokens = [(str(token), float(log)) for token, log in found["top_logprobs"][0].items()]
            else:
                named = found["content"][0]["top_logprobs"]
                tokens = [(str(token["token"]), float(token["logprob"])) for token in named]
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{self.url} does not tell the probabilities of tokens.",
                "Use a server that offers logprobs (llama-server, vLLM), or the local engine.",
            ) from error
        return shares_of_first_tokens(choices, tokens)


def _counted(told: Any) -> Usage | None:
    """Return the tokens of a reply as the server counted them, None if it did not."""
    prompt = _number(told, "prompt_tokens")
    cached = _number(told.get("prompt_tokens_details"), "cached_tokens") if prompt else 0
    return Usage(prompt, _number(told, "completion_tokens"), evaluated_tokens=prompt - cached) if prompt else None


def _rows(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": without_control_tokens(message.content)} for message in messages]


def _estimate(messages: Sequence[Message]) -> int:
    return sum(math.ceil(len(message.content) / CHARACTERS_PER_TOKEN) + TOKENS_AROUND_MESSAGE for message in messages)


def _number(reply: Any, key: str) -> int:
    found = reply.get(key) if isinstance(reply, dict) else None
    return found if isinstance(found, int) and found > 0 else 0
