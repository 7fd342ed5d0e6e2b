"""Pronouns replaced by the nouns they stand for, so that every segment of a text can be judged alone.

Source: ai-dial-rag-eval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdfqa_core.interfaces import LLM, Message, StopSignal
from pdfqa_core.metrics.replies import UnusableReplyError, for_each, json_reply
from pdfqa_core.metrics.segments import SplitSentences, segments
from pdfqa_core.text import sentences

PROMPT = (
    "Here are the sentences of a text as a JSON list.\n"
    "{sentences}\n\n"
    "Replace every pronoun by the noun it stands for, using the sentences before it. Change nothing else.\n"
    'Reply in JSON, with exactly {count} sentences: {{"sentences": ["…"]}}'
)
GROWTH = 1.5  # how much longer in tokens the reply may be than the sentences
EXTRA_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Resolved:
    """The segments of a text after replacement; `reason` says why they are the original ones, where they are."""

    segments: tuple[str, ...]
    reason: str = ""


def pronoun_prompt(pieces: Sequence[str]) -> list[Message]:
    """Return the prompt about the segments of one text."""
    listed = json.dumps(list(pieces), ensure_ascii=False)
    return [Message("user", PROMPT.format(sentences=listed, count=len(pieces)))]


def replace_pronouns(
    texts: Sequence[str], llm: LLM, *, split: SplitSentences = sentences, stop: StopSignal | None = None
) -> tuple[Resolved, ...]:
    """Return the segments of each text with pronouns replaced.

    The first segment is context and stays as it is, so a text of one segment is not asked about. Where the model
    returns another number of segments, an empty one, or no JSON, the originals are kept and `reason` says so. Raises
    ModelError if the engine does not work, StoppedError.
    """
    pieces = [tuple(part.piece for part in segments(text, split)) for text in texts]

    def ask(originals: tuple[str, ...]) -> Resolved:
        return Resolved((originals[0], *_asked(originals, llm, stop)))

    long = [originals for originals in pieces if len(originals) > 1]
    replies = iter(for_each(long, ask, lambda reason: Resolved((), reason), workers=llm.parallel))
    found = [next(replies) if len(originals) > 1 else Resolved(originals) for originals in pieces]
    return tuple(
        Resolved(originals, one.reason) if one.reason else one for originals, one in zip(pieces, found, strict=True)
    )


def _asked(originals: tuple[str, ...], llm: LLM, stop: StopSignal | None) -> list[str]:
    count = len(originals)
    pieces: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
    schema: dict[str, Any] = {
        "type": "object", "properties": {"sentences": pieces}, "required": ["sentences"], "additionalProperties": False,
    }  # fmt: skip
    length = llm.count_tokens([Message("user", json.dumps(originals, ensure_ascii=False))])
    max_tokens = int(GROWTH * length) + EXTRA_TOKENS
    replied = json_reply(llm, pronoun_prompt(originals), schema, max_tokens=max_tokens, stop=stop)
    reply = replied.get("sentences") if isinstance(replied, Mapping) else None
    if not isinstance(reply, list) or not all(isinstance(piece, str) for piece in reply):
        raise UnusableReplyError("the reply is no list of sentences")
    if len(reply) != count:
        raise UnusableReplyError(f"the reply has {len(reply)} sentences, not {count}")
    if not all(piece.strip() for piece in reply):
        raise UnusableReplyError("the reply has an empty sentence")
    return [piece.strip() for piece in reply[1:]]
