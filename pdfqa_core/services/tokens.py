"""Tokens by which programs use the server: made and removed by the owner, kept as hashes only."""

from __future__ import annotations

import hashlib
import logging
import secrets
from datetime import UTC, datetime, timedelta

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services.index_files import LOCAL_OWNER
from pdfqa_core.storage.records import ApiToken
from pdfqa_core.storage.tokens import Tokens

__all__ = ["ApiToken", "TokenService"]

PREFIX = "pdfqa_"  # by it people and scanners of published secrets know what it is
_BYTES = 32
_NOTED_EVERY = timedelta(minutes=1)
UNKNOWN = UsageError("This token is not valid.", "Make one with: pdfqa tokens add NAME")
_log = logging.getLogger(__name__)


class TokenService:
    """The tokens of a workspace. In a demo each has a space of its own, with the limits of a visitor.

    A token is 32 random bytes, so that its SHA-256 says nothing about it.
    """

    def __init__(self, tokens: Tokens, *, demo: bool) -> None:
        self._tokens = tokens
        self._demo = demo

    def add(self, name: str) -> str:
        """Make a token and return it; it is not kept and cannot be shown again. Raises UsageError (the name)."""
        token = PREFIX + secrets.token_urlsafe(_BYTES)
        self._tokens.add(LOCAL_OWNER, name, _hash(token))
        return token

    def list(self) -> tuple[ApiToken, ...]:
        """Return the tokens, the oldest first."""
        return self._tokens.list()

    def remove(self, name: str) -> None:
        """Remove a token, which from now on lets nobody in. Raises UsageError if there is none of this name."""
        self._tokens.remove(name)

    def of(self, token: str) -> ApiToken:
        """Return what is known of a token. Raises UsageError where it is not valid."""
        found = self._tokens.of_hash(_hash(token)) if token.startswith(PREFIX) else None
        if found is None:
            raise UNKNOWN
        self._note(found)
        return found

    def owner(self, token: ApiToken) -> str:
        """Return whose documents a token is for."""
        return f"visitor-token-{token.id}" if self._demo else token.owner

    def _note(self, token: ApiToken) -> None:
        if token.used_at is None or datetime.now(UTC) - token.used_at > _NOTED_EVERY:
            try:
                self._tokens.used(token.id)
            except PdfQAError as error:  # it is no reason to let nobody in
                _log.warning("the use of a token is not noted: %s", error)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
