"""Errors that people read: what happened, to which file or field, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pdfqa_core.types import DocumentState


class PdfQAError(Exception):
    """Anything the program reports to its user. `what` names the thing that failed, `hint` what to do."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(f"{what} {hint}".strip())
        self.what = what
        self.hint = hint


class UsageError(PdfQAError):
    """The call itself is wrong: an unknown name, a value out of range, a missing field."""


class ConflictError(UsageError):
    """Something was changed elsewhere since it was shown; nothing was overwritten."""


class DocumentError(PdfQAError):
    """A PDF cannot be used; `state` is the one it ends in."""

    def __init__(self, state: DocumentState, what: str, hint: str = "") -> None:
        super().__init__(what, hint)
        self.state = state

    def __reduce__(self) -> tuple[type[DocumentError], tuple[DocumentState, str, str]]:
        return DocumentError, (self.state, self.what, self.hint)  # pickle on its own would pass the message alone


class ModelError(PdfQAError):
    """A language model or an encoder is missing, does not load or does not answer."""


class StorageError(PdfQAError):
    """The workspace cannot be read or written; nothing that was confirmed is lost."""


class LockedError(StorageError):
    """Another program is writing to the workspace; a moment later it may work."""


class StoppedError(PdfQAError):
    """A person stopped the work."""

    def __init__(self, what: str = "Stopped.") -> None:
        super().__init__(what)


MOST_TOLD = 5  # faults of one kind that an error lists


def first_of(faults: Sequence[str]) -> str:
    """Return the first MOST_TOLD faults in a line, and how many more there are."""
    more = [f"and {len(faults) - MOST_TOLD} more"] if len(faults) > MOST_TOLD else []
    return "; ".join([*faults[:MOST_TOLD], *more])


@contextmanager
def in_file(name: str) -> Iterator[None]:
    """Let a plain UsageError raised inside begin with a file's name, unless it names the file already."""
    try:
        yield
    except UsageError as error:
        if name in error.what or type(error) is not UsageError:
            raise
        raise UsageError(f"{name}: {error.what}", error.hint) from error


LOADING_FAILS = (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, ImportError, IndexError)
"""What the libraries for models raise where one is missing, broken, or of another kind."""
