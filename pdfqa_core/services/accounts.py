"""Accounts of a server that a group shares: who may sign in, as what, and for how long.

Passwords are kept as argon2id hashes, the tokens of browsers as SHA-256. A sign-in ends after `IDLE` without use, after
`LONGEST` in any case, with a new password, and with the account.
"""

from __future__ import annotations

import builtins
import hashlib
import hmac
import logging
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.services import secret_words
from pdfqa_core.services.indexes import LOCAL_OWNER
from pdfqa_core.services.secret_words import Tries
from pdfqa_core.storage import Store
from pdfqa_core.storage.accounts import Accounts, Tokens
from pdfqa_core.storage.invitations import Invitations
from pdfqa_core.storage.records import (
    LINK_USED,
    SEAT,
    Account,
    AccountInvitation,
    AccountRole,
    ApiToken,
    Invitation,
    Seat,
)
from pdfqa_core.storage.studies import ONLY_OWNER, OVER, Studies
from pdfqa_core.study_types import Role

__all__ = ["Account", "AccountInvitation", "AccountRole"]  # records that pages and commands take from here

# ----------------------------------------------------------------------------------------------------
# Tokens by which programs use the server: made and removed by the owner, kept as hashes only.

PREFIX = "pdfqa_"  # by it people and scanners of published secrets know what it is
_BYTES = 32
_NOTED_EVERY = timedelta(minutes=1)
UNKNOWN = ("This token is not valid.", "Make one with: pdfqa tokens add NAME")
_log = logging.getLogger(__name__)


class TokenService:
    """The tokens of a workspace. In a demo each has a space of its own, with the limits of a visitor.

    A token is 32 random bytes, so that its SHA-256 says nothing about it.
    """

    def __init__(self, kept: Tokens, *, demo: bool) -> None:
        self.kept = kept
        self._demo = demo

    def add(self, name: str) -> str:
        """Make a token and return it; it is not kept and cannot be shown again. Raises UsageError (the name)."""
        token = PREFIX + secrets.token_urlsafe(_BYTES)
        self.kept.add(LOCAL_OWNER, name, _hash(token))
        return token

    def of(self, token: str) -> ApiToken:
        """Return what is known of a token. Raises UsageError where it is not valid."""
        found = self.kept.of_hash(_hash(token)) if token.startswith(PREFIX) else None
        if found is None:
            raise UsageError(*UNKNOWN)
        self._note(found)
        return found

    def owner(self, token: ApiToken) -> str:
        """Return whose documents a token is for."""
        return f"visitor-token-{token.id}" if self._demo else token.owner

    def _note(self, token: ApiToken) -> None:
        if token.used_at is None or datetime.now(UTC) - token.used_at > _NOTED_EVERY:
            try:
                self.kept.used(token.id)
            except PdfQAError as error:  # it is no reason to let nobody in
                _log.warning("the use of a token is not noted: %s", error)


# ----------------------------------------------------------------------------------------------------
# Invitations to a study: one-time links and passwords, and what an invited person's browser may read afterwards.
#
# The owner invites by name. A link holds a random token; whoever opens it first comes in under that name, and their
# browser gets another token to come back with. Of tokens only the SHA-256 is stored, of passwords the argon2id hash;
# nothing has a password that is not made here. Who came in is, to the studies, an owner of the name `seat-…`, who
# may read one study and rate in it under their own name: see `RatedStudy` for what they see.

NOBODY = SEAT  # the owner of a page that came with a link which lets nobody in: sees nothing, may do nothing
USED = ("This link was used before, in another browser or another window.", "Ask the owner of the study for a new one.")
GONE = ("This link is not valid: it was withdrawn, replaced by a newer one, or is not complete.",
        "Ask the owner of the study for a new one.")  # fmt: skip
WRONG_SEAT = ("Name and password do not belong together.", "Ask the owner of the study for a new password.")
_TOKEN_BYTES = 32
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that look alike
_PASSWORD = (4, 4)  # groups and letters in each: 79 bits


@dataclass(frozen=True, slots=True)
class Entry:
    """How somebody came in: the owner to read the study as, the token for their browser, and what they came in to."""

    owner: str
    token: str
    seat: Seat


def is_seat(owner: str) -> bool:
    """Return whether this owner is an invited person, or somebody whom a link did not let in."""
    return owner.startswith(SEAT)


class InvitationService:
    """Who is invited to the studies of each owner, and who has come in.

    The methods that take an `owner` raise UsageError where the study is not theirs. All raise StorageError.
    """

    def __init__(self, kept: Invitations, studies: Studies) -> None:
        self.kept = kept
        self._studies = studies

    # ------------------------------------------------------------ for the owner

    def list(self, owner: str, study_id: str) -> tuple[Invitation, ...]:
        """Return who is invited to a study, the oldest invitation first."""
        return self.kept.list(self._own(owner, study_id))

    def invite(self, owner: str, study_id: str, name: str, role: Role = Role.ANNOTATOR) -> str:
        """Invite somebody and return the query of their link, "?tab=annotate&study=…&invite=…"; it is not kept.

        Raises UsageError if the name is empty, too long, or invited already.
        """
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.kept.invite(self._own(owner, study_id), name, role, _hash(token))
        return _link(study_id, token)

    def renew(self, owner: str, study_id: str, name: str) -> str:
        """Return the query of a new link; the old one, and the browser that used it, are let in no more."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.kept.renew(self._own(owner, study_id), name, _hash(token))
        return _link(study_id, token)

    def make_password(self, owner: str, study_id: str, name: str) -> str:
        """Return a new password for somebody, which cannot be asked for again; the one before is not valid any more."""
        groups, letters = _PASSWORD
        password = "-".join("".join(secrets.choice(_LETTERS) for _ in range(letters)) for _ in range(groups))
        study_id = self._own(owner, study_id)
        self.kept.set_password(study_id, name, secret_words.hashed(password))
        return password

    def withdraw(self, owner: str, study_id: str, name: str) -> None:
        """Take an invitation back: whoever came in by it is let in no more. What they have rated stays."""
        self.kept.withdraw(self._own(owner, study_id), name)

    def _own(self, owner: str, study_id: str) -> str:
        if is_seat(owner):
            raise UsageError(*ONLY_OWNER)
        return self._studies.get(owner, study_id).id

    # ------------------------------------------------------------ for those who are invited

    def take(self, study_id: str, token: str) -> Entry:
        """Let somebody in by the token of their link, once. Raises UsageError in one sentence where it is not valid."""
        digest, match, used = _hash(token), None, False
        for one in self.kept.list(study_id):
            match = one if hmac.compare_digest(one.link_hash, digest) else match
            used = used or hmac.compare_digest(one.link_hash, LINK_USED + digest)
        if match is None:
            raise UsageError(*(USED if used else GONE))
        return self._let_in(match, by_link=True, refusal=USED)

    def sign_in(self, study_id: str, name: str, password: str) -> Entry:
        """Let somebody in by name and password, as often as they like; another browser of theirs is let in no more.

        Raises UsageError, the same for an unknown name and a wrong password, in about the same time.
        """
        known = self.kept.named(study_id, name)
        if not secret_words.belongs(password, known.password_hash if known else "") or known is None:
            raise UsageError(*WRONG_SEAT)
        return self._let_in(known, by_link=False, refusal=WRONG_SEAT)

    def known(self, study_id: str, name: str, marks: str) -> str:
        """Return which of a browser's marks says that it has come in by this name's password; empty: none."""
        invitation = self.kept.named(study_id, name)
        return secret_words.known(marks, invitation.password_hash) if invitation else ""

    def marked(self, study_id: str, name: str, marks: str) -> str:
        """Return the marks of a browser that just came in by this name's password: by the next time it is known."""
        invitation = self.kept.named(study_id, name)
        return secret_words.marked(marks, invitation.password_hash) if invitation else marks

    def come_back(self, token: str) -> Entry | None:
        """Return what a browser's token lets it in to; None where the invitation was withdrawn or renewed."""
        owner = SEAT + _hash(token)
        seat = self._studies.seat(owner) if token else None
        return Entry(owner, token, seat) if seat else None

    def enter_as(self, study_id: str, name: str) -> Entry:
        """Let somebody in whose name is certain: they signed in with an account. Raises UsageError."""
        known = self.kept.named(study_id, name)
        if known is None:
            raise UsageError(*OVER)
        return self._let_in(known, by_link=False, refusal=OVER)

    def _let_in(self, invitation: Invitation, *, by_link: bool, refusal: tuple[str, str]) -> Entry:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        stood = self.kept.take(invitation, _hash(token), by_link=by_link)
        entry = self.come_back(token)
        if not stood or entry is None:
            raise UsageError(*refusal)
        return entry


def _link(study_id: str, token: str) -> str:
    return f"?tab=annotate&study={study_id}&invite={token}"


def entrance(study_id: str) -> str:
    """Return the query of the address at which those who have a password come in."""
    return f"?tab=annotate&study={study_id}&enter=1"


# ----------------------------------------------------------------------------------------------------
# Accounts of a server that a group shares: who may sign in, as what, and for how long.

SHORTEST, LONGEST_PASSWORD = 8, 200  # characters
IDLE, LONGEST = timedelta(hours=12), timedelta(days=7)
INVITED = timedelta(days=7)  # that a link holds
JOIN = "/join"  # where it leads to
NO_LONGER_GOOD = ("This link was used already, or has ended.", "Ask whoever runs this server for a new one.")
STUDY_OVER = OVER
WRONG = ("Name and password do not belong together.", "Ask whoever runs this server for a new password.")


class AccountService:
    """The accounts of a server. Methods raise StorageError, and UsageError where there is no account of a name."""

    def __init__(self, kept: Accounts) -> None:
        self.kept = kept

    def list(self) -> tuple[Account, ...]:
        """Return the accounts by their names."""
        return self.kept.list()

    def add(self, name: str, role: AccountRole, password: str) -> Account:
        """Make an account. Raises UsageError for a name that is taken or a password that is too short."""
        return Account(self.kept.add(name, role, self._hashed(password)), role)

    def remove(self, name: str) -> None:
        """Remove an account and its invitation; whoever is signed in with it is let in no more."""
        self._check_owner_left(name)
        if not self.kept.withdraw(name) or self.named(name) is not None:
            self.kept.remove(name)

    def set_password(self, name: str, password: str) -> None:
        """Give an account another password; whoever is signed in with it has to do so again."""
        self.kept.change(name, password_hash=self._hashed(password))

    def set_role(self, name: str, role: AccountRole) -> None:
        """Give an account another role, from the next click on."""
        if role is not AccountRole.OWNER:
            self._check_owner_left(name)
        self.kept.change(name, role=role)

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
        name = self.kept.invite(name, role, _hash(token), ends_at)
        found = next(one for one in self.invitations() if one.name == name)
        return found, f"{JOIN}?token={token}"

    def invitations(self) -> builtins.list[AccountInvitation]:
        """Return the invitations that wait, by their names."""
        return self.kept.invitations()

    def invited(self, token: str) -> AccountInvitation | None:
        """Return whose link this is; None where it was used, has ended, or was taken back."""
        return self.kept.invited(_hash(token)) if token else None

    def join(self, token: str, password: str) -> str:
        """Use a link with the password that was chosen; return the token of the browser, which is signed in.

        Raises UsageError for a password that is too short (the link stays good) and for a link that is no longer good.
        """
        found = self.kept.join(_hash(token), self._hashed(password)) if self.invited(token) else None
        if found is None:
            raise UsageError(*NO_LONGER_GOOD)
        return self._let_in(found.name)

    # ------------------------------------------------------------ signing in

    def sign_in(self, name: str, password: str) -> str:
        """Return the token of a browser that is signed in from now on.

        Raises UsageError, the same for an unknown name and a wrong password, in about the same time.
        """
        known = self.named(name[:LONGEST_PASSWORD])
        if not secret_words.belongs(password, known.password_hash if known else "") or known is None:
            raise UsageError(*WRONG)
        return self._let_in(known.name)

    def known(self, name: str, marks: str) -> str:
        """Return which of a browser's marks says that it has signed in as `name` before; empty: none."""
        account = self.named(name[:LONGEST_PASSWORD])
        return secret_words.known(marks, account.password_hash) if account else ""

    def marked(self, token: str, marks: str) -> str:
        """Return the marks of a browser that is signed in with this token: by the next time it is known."""
        account = self.signed_in(token)
        return secret_words.marked(marks, account.password_hash) if account else marks

    def _let_in(self, name: str) -> str:
        token = secrets.token_urlsafe(32)
        self.kept.sign_in(name, _hash(token), datetime.now(UTC) + LONGEST)
        return token

    def signed_in(self, token: str) -> Account | None:
        """Return whose browser sends this token; None where its sign-in ended."""
        return self.kept.signed_in(_hash(token), IDLE) if token else None

    def sign_out(self, token: str) -> None:
        """End a sign-in."""
        self.kept.sign_out(_hash(token))

    def named(self, name: str) -> Account | None:
        """Return the account of this name, None without one."""
        return self.kept.named(name)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


# ----------------------------------------------------------------------------------------------------
# Who comes in, and what the page remembers of them.


class People:
    """Accounts, invitations to studies, tokens of programs, wrong tries at all three, and what is kept of each owner.

    An owner is the person at this computer, a visitor of a demo, an account or an invited person.
    """

    def __init__(self, store: Store, *, demo: bool) -> None:
        self.accounts = AccountService(store.accounts)
        self.invitations = InvitationService(store.invitations, store.studies)
        self.tokens = TokenService(store.tokens, demo=demo)
        self.tries = Tries()
        self.owners = store.owners
