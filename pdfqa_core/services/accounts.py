"""Accounts of a server that a group shares: who may sign in, as what, and for how long.

Passwords are kept as argon2id hashes, the tokens of browsers as SHA-256. A sign-in ends after `IDLE` without use, after
`LONGEST` in any case, with a new password, and with the account.
"""

from __future__ import annotations

import builtins
import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pdfqa_core.errors import UsageError
from pdfqa_core.services import secret_words
from pdfqa_core.storage.accounts import Accounts, StoredAccount, StoredInvitation

SHORTEST, LONGEST_PASSWORD = 8, 200  # characters
IDLE, LONGEST = timedelta(hours=12), timedelta(days=7)
INVITED = timedelta(days=7)  # that a link holds
JOIN = "/join"  # where it leads to
NO_LONGER_GOOD = ("This link was used already, or has ended.", "Ask whoever runs this server for a new one.")
WRONG = ("Name and password do not belong together.", "Ask whoever runs this server for a new password.")


class AccountRole(StrEnum):
    """What somebody may do: all; all but the models of the server; rate where they are invited; look on."""

    OWNER = "owner"
    MEMBER = "member"
    ANNOTATOR = "annotator"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may sign in."""

    name: str
    role: AccountRole


@dataclass(frozen=True, slots=True)
class AccountInvitation:
    """Somebody who may choose the password of an account by a link, until it ends."""

    name: str
    role: AccountRole
    ends_at: datetime


class AccountService:
    """The accounts of a server. Methods raise StorageError, and UsageError where there is no account of a name."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def any(self) -> bool:
        """Whether there are accounts: then nobody gets in without one."""
        return self._accounts.any()

    def list(self) -> tuple[Account, ...]:
        """Return the accounts by their names."""
        return tuple(_account(one) for one in self._accounts.list())

    def add(self, name: str, role: AccountRole, password: str) -> Account:
        """Make an account. Raises UsageError for a name that is taken or a password that is too short."""
        return Account(self._accounts.add(name, role.value, self._hashed(password)), role)

    def remove(self, name: str) -> None:
        """Remove an account and its invitation; whoever is signed in with it is let in no more."""
        self._check_owner_left(name)
        if not self._accounts.withdraw(name) or self.named(name) is not None:
            self._accounts.remove(name)

    def set_password(self, name: str, password: str) -> None:
        """Give an account another password; whoever is signed in with it has to do so again."""
        self._accounts.change(name, password_hash=self._hashed(password))

    def set_role(self, name: str, role: AccountRole) -> None:
        """Give an account another role, from the next click on."""
        if role is not AccountRole.OWNER:
            self._check_owner_left(name)
        self._accounts.change(name, role=role.value)

    def _check_owner_left(self, name: str) -> None:
        """Raise UsageError if no owner would be left among several accounts."""
        one, others = self.named(name), [one for one in self.list() if one != self.named(name)]
        if one is None or one.role is not AccountRole.OWNER or not others:
            return
        if not any(other.role is AccountRole.OWNER for other in others):
            raise UsageError(f"“{one.name}” is the only owner.", "Make somebody else an owner first.")

    def _hashed(self, password: str) -> str:
        if not SHORTEST <= len(password) <= LONGEST_PASSWORD:
            raise UsageError(
                f"A password has {SHORTEST} to {LONGEST_PASSWORD} characters, this one has {len(password)}."
            )
        return secret_words.hashed(password)

    # ------------------------------------------------------------ invitations

    def invite(self, name: str, role: AccountRole = AccountRole.MEMBER) -> tuple[AccountInvitation, str]:
        """Let somebody choose their own password once; return the invitation and the link, "/join?token=…".

        Whoever has an account keeps its role: the link is for a forgotten password. The link holds for `INVITED`; only
        its hash is kept, and a second invitation ends the first. Raises UsageError for a name that cannot be one, and
        before there is an owner, because nobody has to sign in until there is an account.
        """
        if not any(one.role is AccountRole.OWNER for one in self.list()):
            raise UsageError(
                "Nobody can be invited before there is an owner.", "Make one: pdfqa accounts add NAME --role owner"
            )
        token, ends_at = secrets.token_urlsafe(32), datetime.now(UTC) + INVITED
        name = self._accounts.invite(name, role.value, _token_hash(token), ends_at)
        found = next(one for one in self.invitations() if one.name == name)
        return found, f"{JOIN}?token={token}"

    def invitations(self) -> builtins.list[AccountInvitation]:
        """Return the invitations that wait, by their names."""
        return [_invitation(one) for one in self._accounts.invitations()]

    def invited(self, token: str) -> AccountInvitation | None:
        """Return whose link this is; None where it was used, has ended, or was taken back."""
        found = self._accounts.invited(_token_hash(token)) if token else None
        return None if found is None else _invitation(found)

    def join(self, token: str, password: str) -> str:
        """Use a link with the password that was chosen; return the token of the browser, which is signed in.

        Raises UsageError for a password that is too short (the link stays good) and for a link that is no longer good.
        """
        found = self._accounts.join(_token_hash(token), self._hashed(password)) if self.invited(token) else None
        if found is None:
            raise UsageError(*NO_LONGER_GOOD)
        return self._let_in(found.name)

    # ------------------------------------------------------------ signing in

    def sign_in(self, name: str, password: str) -> str:
        """Return the token of a browser that is signed in from now on.

        Raises UsageError, the same for an unknown name and a wrong password, in about the same time.
        """
        known = self._accounts.named(name[:LONGEST_PASSWORD])
        if not secret_words.belongs(password, known.password_hash if known else "") or known is None:
            raise UsageError(*WRONG)
        return self._let_in(known.name)

    def known(self, name: str, marks: str) -> str:
        """Return which of a browser's marks says that it has signed in as `name` before; empty: none."""
        account = self._accounts.named(name[:LONGEST_PASSWORD])
        return secret_words.known(marks, account.password_hash) if account else ""

    def marked(self, token: str, marks: str) -> str:
        """Return the marks of a browser that is signed in with this token: by the next time it is known."""
        account = self._accounts.signed_in(_token_hash(token), IDLE)
        return secret_words.marked(marks, account.password_hash) if account else marks

    def _let_in(self, name: str) -> str:
        token = secrets.token_urlsafe(32)
        self._accounts.sign_in(name, _token_hash(token), datetime.now(UTC) + LONGEST)
        return token

    def signed_in(self, token: str) -> Account | None:
        """Return whose browser sends this token; None where its sign-in ended."""
        found = self._accounts.signed_in(_token_hash(token), IDLE) if token else None
        return None if found is None else _account(found)

    def sign_out(self, token: str) -> None:
        """End a sign-in."""
        self._accounts.sign_out(_token_hash(token))

    def named(self, name: str) -> Account | None:
        """Return the account of this name, None without one."""
        found = self._accounts.named(name)
        return None if found is None else _account(found)


def _invitation(stored: StoredInvitation) -> AccountInvitation:
    return AccountInvitation(stored.name, AccountRole(stored.role), stored.ends_at)


def _account(stored: StoredAccount) -> Account:
    return Account(stored.name, AccountRole(stored.role))


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
