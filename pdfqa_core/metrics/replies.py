"""Asking a language model so that every item ends with a usable reply or with the reason why there is none.

Replies obey a JSON schema or are read from token probabilities. `CachedLLM` keeps them by the hash of prompt, model and
settings, so that a repeated run asks nothing again; where they are kept is a mapping that the caller gives.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import GREEDY, LLM, Message, Sampling, StopSignal, Stream, Usage
from pdfqa_core.streaming import complete, is_set
from pdfqa_core.types import Progress

YES, NO = "Yes", "No"
FAILURES_IN_A_ROW = 3  # after so many errors of the engine one after the other the run ends with the last one
YES_NO_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": [YES, NO]}},
    "required": ["answer"],
    "additionalProperties": False,
}
_YES_NO_TOKENS = 16
_FIRST_WORD = re.compile(r"[\W_]*(yes|no)\b", re.IGNORECASE)

T = TypeVar("T")
R = TypeVar("R")
OnDone = Callable[[int, int], None]


class UnusableReplyError(Exception):
    """A reply from which nothing can be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A yes or no of a model. `value` None: unscored, `reason` says why.

    `probability` of yes against no, where the engine gives probabilities; `source` is "probabilities" or "first word".
    """

    value: bool | None
    probability: float | None = None
    source: str = ""
    reason: str = ""

    @property
    def score(self) -> float | None:
        """1.0 for yes, 0.0 for no, None for unscored."""
        return None if self.value is None else float(self.value)


def undecided(reason: str) -> Decision:
    """Return the decision on an item that is unscored."""
    return Decision(None, reason=reason)


def reply_key(model: str, kind: str, messages: Sequence[Message], settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 (64 hex digits) of everything that a reply depends on."""
    asked = [model, kind, [[message.role, message.content] for message in messages], settings]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class CachedLLM:
    """A language model that remembers its replies in `replies` (a dict, or a mapping onto a file).

    `model` tells the model from others where its name does not (a hash of its file, the server's address). A reply that
    was stopped is not kept, nor one that came when the engine had been given another model, as `same` says. `asked` and
    `remembered` count the requests that went to the model and those that did not. `mark` is what its replies are kept
    under, that of another one where both shall know each other's.
    """

    def __init__(
        self,
        llm: LLM,
        replies: MutableMapping[str, str],
        *,
        model: str = "",
        mark: str = "",
        same: Callable[[], bool] = lambda: True,
    ) -> None:
        self._llm = llm
        self._same = same
        self._replies = replies
        self.mark = mark or f"{llm.name} {model}"  # some engines learn their model's name at the first contact
        self.asked = 0
        self.remembered = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    @property
    def context_size(self) -> int:
        """Tokens that prompt and reply may have together."""
        return self._llm.context_size

    @property
    def parallel(self) -> int:
        """How many requests the engine answers at the same time."""
        return self._llm.parallel

    def prepare(self, stop: StopSignal | None = None) -> Generator[Progress, None, None]:
        """Let the model get ready."""
        yield from self._llm.prepare(stop)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        stop: StopSignal | None = None,
        schema: Mapping[str, Any] | None = None,
        sampling: Sampling = GREEDY,
    ) -> Stream:
        """Yield the remembered reply at once, which takes no tokens, or the model's piece by piece."""
        settings = {"max_tokens": max_tokens, "schema": schema, "sampling": asdict(sampling)}
        key = reply_key(self.mark, "complete", messages, settings)
        known = self._known(key)
        if known is not None:
            yield known
            yield Usage()
            return
        pieces = []
        for piece in self._llm.stream(messages, max_tokens=max_tokens, stop=stop, schema=schema, sampling=sampling):
            if isinstance(piece, str):
                pieces.append(piece)
            elif isinstance(piece, Usage) and piece.finish_reason != "stopped" and self._same():
                self._replies[key] = "".join(pieces)
            yield piece

    def choose(
        self, messages: Sequence[Message], choices: Sequence[str], *, stop: StopSignal | None = None
    ) -> Mapping[str, float]:
        """Return the remembered probabilities, or those of the model."""
        key = reply_key(self.mark, "choose", messages, {"choices": list(choices)})
        known = self._known(key)
        if known is not None:
            return {str(choice): float(share) for choice, share in json.loads(known).items()}
        found = dict(self._llm.choose(messages, choices, stop=stop))
        if not is_set(stop) and self._same():
            self._replies[key] = json.dumps(found)
        return found

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt in tokens."""
        return self._llm.count_tokens(messages)

    def _known(self, key: str) -> str | None:
        known = self._replies.get(key)
        if known is None:
            self.asked += 1
        else:
            self.remembered += 1
        return known


def check_length(llm: LLM, messages: Sequence[Message], max_tokens: int) -> None:
    """Raise UnusableReplyError if prompt and reply do not fit the model's context."""
    tokens = llm.count_tokens(messages)
    if tokens + max_tokens > llm.context_size:
        raise UnusableReplyError(
            f"the prompt has {tokens} tokens, which with {max_tokens} for the reply do not fit the context of "
            f"{llm.context_size}"
        )


def json_reply(
    llm: LLM, messages: Sequence[Message], schema: Mapping[str, Any], *, max_tokens: int, stop: StopSignal | None = None
) -> Any:
    """Return the model's reply as JSON that obeys `schema` as far as the engine enforces it.

    Raises UnusableReplyError if the prompt is too long or the reply is no JSON (cut off, for example), StoppedError.
    """
    check_length(llm, messages, max_tokens)
    _check(stop)
    reply = "".join(complete(llm, messages, max_tokens=max_tokens, stop=stop, schema=schema))
    _check(stop)
    try:
        return json.loads(reply)
    except ValueError as error:
        raise UnusableReplyError(f"the reply is no JSON: {_shortened(reply)}") from error


class YesNo:
    """Asks a model for Yes or No.

    By the probabilities of the two where the engine gives them, else by the first word of its reply; any other word
    leaves the item unscored. An engine that cannot tell probabilities is not asked for them again.
    """

    def __init__(self, llm: LLM, *, stop: StopSignal | None = None) -> None:
        self._llm = llm
        self._stop = stop
        self._tells = True

    def __call__(self, messages: Sequence[Message]) -> Decision:
        """Return the model's decision. Raises ModelError if the engine does not work, StoppedError."""
        try:
            check_length(self._llm, messages, _YES_NO_TOKENS)
        except UnusableReplyError as error:
            return undecided(str(error))
        shares = self._probabilities(messages) if self._tells else {}
        if shares:
            return Decision(shares[YES] > shares[NO], shares[YES], "probabilities")
        options: dict[str, Any] = {"max_tokens": _YES_NO_TOKENS, "schema": YES_NO_SCHEMA}
        reply = "".join(complete(self._llm, messages, stop=self._stop, **options))
        _check(self._stop)
        self._tells = False
        word = _FIRST_WORD.match(_answer_in(reply))
        if word is None:
            return Decision(None, reason=f"the reply begins with neither Yes nor No: {_shortened(reply)}")
        return Decision(word[1].capitalize() == YES, source="first word")

    def _probabilities(self, messages: Sequence[Message]) -> Mapping[str, float]:
        try:
            shares = self._llm.choose(messages, (YES, NO), stop=self._stop)
        except ModelError:
            shares = {}  # it cannot tell; if it does not work at all, the request that follows says so
        _check(self._stop)
        return shares if YES in shares and NO in shares else {}


def for_each(
    items: Sequence[T],
    ask: Callable[[T], R],
    failed: Callable[[str], R],
    *,
    workers: int = 1,
    on_done: OnDone | None = None,
) -> list[R]:
    """Return `ask(item)` for every item, in order, `workers` at a time; `failed(reason)` where nothing came of it.

    An UnusableReplyError or ModelError costs the item only, three ModelErrors one after the other end the run: the
    engine does not work then. Raises ModelError and what else `ask` raises (StoppedError).
    """
    in_a_row = 0
    found: list[R] = []
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = [pool.submit(ask, item) for item in items] if workers > 1 else []
        try:
            for number, item in enumerate(items):
                try:
                    found.append(futures[number].result() if futures else ask(item))
                    in_a_row = 0
                except UnusableReplyError as error:
                    found.append(failed(str(error)))
                    in_a_row = 0
                except StoppedError:
                    raise
                except ModelError as error:
                    in_a_row += 1
                    if in_a_row >= FAILURES_IN_A_ROW:
                        raise
                    found.append(failed(str(error)))
                if on_done is not None:
                    on_done(number + 1, len(items))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found


def _answer_in(reply: str) -> str:
    """Return the answer of a reply that obeys YES_NO_SCHEMA, the reply itself where the engine knows no schemas."""
    try:
        return str(json.loads(reply)["answer"])
    except (ValueError, LookupError, TypeError):
        return reply


def _check(stop: StopSignal | None) -> None:
    if is_set(stop):
        raise StoppedError


def _shortened(reply: str) -> str:
    text = " ".join(reply.split())
    return repr(text if len(text) <= 80 else text[:79] + "…") if text else "it is empty"
