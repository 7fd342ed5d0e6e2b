"""Invitations to a study: one-time links and passwords, and what an invited person's browser may read afterwards.

The owner invites by name. A link holds a random token; whoever opens it first comes in under that name, and their
browser gets another token to come back with. Of tokens only the SHA-256 is stored, of passwords the argon2id hash;
nothing has a password that is not made here. Who came in is, to the studies, an owner of the name `seat-…`, who may
read one study and rate in it under their own name: see `RatedStudy` for what they see.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from pdfqa_core.errors import UsageError
from pdfqa_core.services import secret_words
from pdfqa_core.storage.invitations import Invitations
from pdfqa_core.storage.records import LINK_USED, SEAT, Invitation, Seat
from pdfqa_core.storage.seats import ONLY_OWNER, OVER
from pdfqa_core.storage.studies import Studies
from pdfqa_core.study_types import Role

__all__ = ["NOBODY", "OVER", "Entry", "Invitation", "InvitationService", "Seat", "is_seat"]

NOBODY = SEAT  # the owner of a page that came with a link which lets nobody in: sees nothing, may do nothing
USED = ("This link was used before, in another browser or another window.", "Ask the owner of the study for a new one.")
GONE = ("This link is not valid: it was withdrawn, replaced by a newer one, or is not complete.",
        "Ask the owner of the study for a new one.")  # fmt: skip
WRONG = ("Name and password do not belong together.", "Ask the owner of the study for a new password.")
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

    def __init__(self, invitations: Invitations, studies: Studies) -> None:
        self._invitations = invitations
        self._studies = studies

    # ------------------------------------------------------------ for the owner

    def list(self, owner: str, study_id: str) -> tuple[Invitation, ...]:
        """Return who is invited to a study, the oldest invitation first."""
        return self._invitations.list(self._own(owner, study_id))

    def invite(self, owner: str, study_id: str, name: str, role: Role = Role.ANNOTATOR) -> str:
        """Invite somebody and return the query of their link, "?tab=annotate&study=…&invite=…"; it is not kept.

        Raises UsageError if the name is empty, too long, or invited already.
        """
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._invitations.invite(self._own(owner, study_id), name, role, _hash(token))
        return _link(study_id, token)

    def renew(self, owner: str, study_id: str, name: str) -> str:
        """Return the query of a new link; the old one, and the browser that used it, are let in no more."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._invitations.renew(self._own(owner, study_id), name, _hash(token))
        return _link(study_id, token)

    def make_password(self, owner: str, study_id: str, name: str) -> str:
        """Return a new password for somebody, which cannot be asked for again; the one before is not valid any more."""
        groups, letters = _PASSWORD
        password = "-".join("".join(secrets.choice(_LETTERS) for _ in range(letters)) for _ in range(groups))
        study_id = self._own(owner, study_id)
        self._invitations.set_password(study_id, name, secret_words.hashed(password))
        return password

    def withdraw(self, owner: str, study_id: str, name: str) -> None:
        """Take an invitation back: whoever came in by it is let in no more. What they have rated stays."""
        self._invitations.withdraw(self._own(owner, study_id), name)

    def _own(self, owner: str, study_id: str) -> str:
        if is_seat(owner):
            raise UsageError(*ONLY_OWNER)
        return self._studies.get(owner, study_id).id

    # ------------------------------------------------------------ for those who are invited

    def take(self, study_id: str, token: str) -> Entry:
        """Let somebody in by the token of their link, once. Raises UsageError in one sentence where it is not valid."""
        digest, match, used = _hash(token), None, False
        for one in self._invitations.list(study_id):
            match = one if hmac.compare_digest(one.link_hash, digest) else match
            used = used or hmac.compare_digest(one.link_hash, LINK_USED + digest)
        if match is None:
            raise UsageError(*(USED if used else GONE))
        return self._let_in(match, by_link=True, refusal=USED)

    def sign_in(self, study_id: str, name: str, password: str) -> Entry:
        """Let somebody in by name and password, as often as they like; another browser of theirs is let in no more.

        Raises UsageError, the same for an unknown name and a wrong password, in about the same time.
        """
        known = self._invitations.named(study_id, name)
        if not secret_words.belongs(password, known.password_hash if known else "") or known is None:
            raise UsageError(*WRONG)
        return self._let_in(known, by_link=False, refusal=WRONG)

    def known(self, study_id: str, name: str, marks: str) -> str:
        """Return which of a browser's marks says that it has come in by this name's password; empty: none."""
        invitation = self._invitations.named(study_id, name)
        return secret_words.known(marks, invitation.password_hash) if invitation else ""

    def marked(self, study_id: str, name: str, marks: str) -> str:
        """Return the marks of a browser that just came in by this name's password: by the next time it is known."""
        invitation = self._invitations.named(study_id, name)
        return secret_words.marked(marks, invitation.password_hash) if invitation else marks

    def come_back(self, token: str) -> Entry | None:
        """Return what a browser's token lets it in to; None where the invitation was withdrawn or renewed."""
        owner = SEAT + _hash(token)
        seat = self._studies.seat(owner) if token else None
        return Entry(owner, token, seat) if seat else None

    def seat(self, owner: str) -> Seat | None:
        """Return what an invited person is let in to; None for any other owner, and where that is over."""
        return self._studies.seat(owner)

    def studies_of(self, name: str) -> tuple[str, ...]:
        """Return the ids of the studies that somebody of this name is invited to, the newest invitation first."""
        return self._invitations.studies_of(name)

    def enter_as(self, study_id: str, name: str) -> Entry:
        """Let somebody in whose name is certain: they signed in with an account. Raises UsageError."""
        known = self._invitations.named(study_id, name)
        if known is None:
            raise UsageError(*OVER)
        return self._let_in(known, by_link=False, refusal=OVER)

    def _let_in(self, invitation: Invitation, *, by_link: bool, refusal: tuple[str, str]) -> Entry:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        stood = self._invitations.take(invitation, _hash(token), by_link=by_link)
        entry = self.come_back(token)
        if not stood or entry is None:
            raise UsageError(*refusal)
        return entry


def _link(study_id: str, token: str) -> str:
    return f"?tab=annotate&study={study_id}&invite={token}"


def entrance(study_id: str) -> str:
    """Return the query of the address at which those who have a password come in."""
    return f"?tab=annotate&study={study_id}&enter=1"


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
