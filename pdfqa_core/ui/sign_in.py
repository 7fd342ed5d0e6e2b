"""The password of a server that other computers can reach. It is kept as a hash, and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets

SHORTEST = 8  # characters


class SignIn:
    """What Gradio asks whether somebody may in: any user name with the one password. Tries are limited by `Traffic`."""

    def __init__(self, password: str) -> None:
        self._salt = secrets.token_bytes(16)
        self._hash = self._hashed(password)

    def __call__(self, _name: str, password: str) -> bool:
        """Whether the password is right."""
        return hmac.compare_digest(self._hashed(password), self._hash)

    def __repr__(self) -> str:
        return "<a password>"

    def _hashed(self, password: str) -> bytes:
        clean = password.encode("utf-8", "replace")
        return hashlib.scrypt(clean, salt=self._salt, n=2**14, r=8, p=1)
