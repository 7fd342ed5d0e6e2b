"""What the storage returns in addition to the program's own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pdfqa_core.study_types import Adjudication, ItemDetails, Rating, Role, Skip, Study
from pdfqa_core.types import Answer, DocumentState, Span, Turn

SEAT = "seat-"  # how the owner is called that an invited person's browser reads a study as; the hash of a token follows
LINK_USED = "used:"  # stands before the hash of a link that has let somebody in


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in the list: `changed_at` is when it was begun, renamed or last asked a question."""

    id: str
    title: str
    created_at: datetime
    changed_at: datetime
    document_ids: tuple[str, ...]
    turn_count: int


@dataclass(frozen=True, slots=True)
class TurnText:
    """What was asked and answered in a turn, without its evidence."""

    conversation_id: str
    turn_id: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Some of an owner's documents under a name, in the order in which they were put in."""

    id: str
    name: str
    created_at: datetime
    document_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """How one way of reading a document ended for its owner.

    `extractor` names it: the extractor, with what was asked of it beyond the default ("visual, all pages"). `ocr_pages`
    counts the pages that were read by OCR, `confidence` is their mean confidence in 0..1. `version` changes when the
    text does; it is empty for what version 0.1 of the program read. `language` is the one of its text, see
    `languages`; empty where nobody has looked yet.
    """

    document_id: str
    extractor: str
    state: DocumentState
    reason: str
    page_count: int
    pages_without_text: tuple[int, ...]
    ocr_pages: int
    confidence: float | None
    read_at: datetime
    version: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a document says in short, with its citations, and when it was made."""

    answer: Answer
    made_at: datetime


@dataclass(frozen=True, slots=True)
class StudyTurn:
    """A turn that is rated, with what an annotator and an export need to show it after its documents are gone.

    `filenames` gives the name of each document that the answer's passages come from.
    """

    turn: Turn
    conversation_id: str
    conversation_title: str
    filenames: Mapping[str, str]
    details: ItemDetails = field(default_factory=ItemDetails)


@dataclass(frozen=True, slots=True)
class Annotator:
    """Somebody who rates, by the name that they first signed in with, or were invited by.

    `drawn_as` is the name that their order of the items is drawn from, where they were called otherwise first.
    `removed_at`: they were taken out of the study, and what they rated does not count.
    """

    name: str
    joined_at: datetime
    drawn_as: str = ""
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeptPicture:
    """The picture of a page under an item, kept when its document was removed; `passage_id` is what is marked on it."""

    document_id: str
    page: int
    passage_id: str
    mime: str
    image: bytes


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token by which a program uses the server as `owner`. `used_at` is when it did so last, None: not yet."""

    id: str
    owner: str
    name: str
    created_at: datetime
    used_at: datetime | None = None


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
    password_hash: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class AccountInvitation:
    """Somebody who may choose the password of an account by a link, until it ends."""

    name: str
    role: AccountRole
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Invitation:
    """Somebody invited to a study. `used_at` is when they came in last, None: not yet.

    `link_hash` is the SHA-256 of the token in their link, behind LINK_USED once that was used; `password_hash` is empty
    without a password.
    """

    id: str
    study_id: str
    name: str
    role: Role
    link_hash: str
    password_hash: str
    invited_at: datetime
    used_at: datetime | None = None

    @property
    def open(self) -> bool:
        """Whether the link still lets somebody in."""
        return not self.link_hash.startswith(LINK_USED)


@dataclass(frozen=True, slots=True)
class Seat:
    """What an invited person's browser is let in to: one study of its owner, under one name, in one role."""

    owner: str
    study_id: str
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class HeldConversation:
    """A conversation that an evaluator holds for a protocol; `finished_at` is None as long as it goes on."""

    annotator: str
    round: int
    place: int
    conversation_id: str
    first_question: str
    finished_at: datetime | None = None
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyCopy:
    """A study with everything in it, as it goes from one workspace to another; of ratings those that count.

    `revisions` are what was changed of first values, oldest first. `plan` is that of a guided protocol (JSON, empty
    without one), `held` are the conversations of its roster, `pictures` the pages that were kept of removed documents.
    """

    study: Study
    turns: tuple[StudyTurn, ...]
    annotators: tuple[Annotator, ...]
    ratings: tuple[Rating, ...]
    adjudications: tuple[Adjudication, ...] = ()
    revisions: tuple[Rating, ...] = ()
    skips: tuple[Skip, ...] = ()
    plan: str = ""
    held: tuple[HeldConversation, ...] = ()
    pictures: tuple[KeptPicture, ...] = ()


class Outcome(StrEnum):
    """What became of a synthetic question: unseen so far, taken or refused by a person, or dropped by a guard."""

    NEW = "new"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class SyntheticQuestion:
    """A question that was made of a passage.

    `made` are its words as they were made, `text` as they read after a person changed them; `made_answer` and `answer`
    likewise those of its gold answer, "" where none is known. `spans` and `passage` are the passage's places and text.
    `kind` says how it was made; `model` is empty where rules made it. `reason` says why a guard dropped it, "" unless
    one did. `conversation` is the id of the one that it is turn number `turn` of, from 1; "" and 0 for a question of
    its own.
    """

    id: str
    document_id: str
    passage_id: str
    spans: tuple[Span, ...]
    passage: str
    text: str
    made: str
    kind: str
    model: str
    seed: int
    outcome: Outcome
    reason: str
    made_at: datetime
    answer: str = ""
    made_answer: str = ""
    conversation: str = ""
    turn: int = 0

    @property
    def edited(self) -> bool:
        """Whether a person changed its words or those of its answer."""
        return (self.text, self.answer) != (self.made, self.made_answer)

    @property
    def follows(self) -> bool:
        """Whether it leans on the turns before it, so that it cannot be asked alone."""
        return self.turn > 1
