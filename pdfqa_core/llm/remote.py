"""What a download has to know of a file: where it lies, what it is called here, what it must be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from pdfqa_core.llm.catalogue import Parts


class RemoteFile(Protocol):
    """A file on the Hugging Face hub: an entry of the catalogue of language models, or one file of several."""

    @property
    def repo(self) -> str:
        """The repository, "owner/name"."""
        ...

    @property
    def revision(self) -> str:
        """The commit or branch."""
        ...

    @property
    def path(self) -> str:
        """Where in the repository it lies."""
        ...

    @property
    def file(self) -> str:
        """What it is called here."""
        ...

    @property
    def sha256(self) -> str:
        """Its checksum; "": the hub's word counts."""
        ...

    @property
    def size(self) -> int:
        """Its size in bytes, 0 if it is not known before the hub says so."""
        ...

    @property
    def parts(self) -> Parts | None:
        """A second source of the same bytes."""
        ...

    @property
    def url(self) -> str:
        """The page where a person finds it."""
        ...

    @property
    def otherwise(self) -> str:
        """What a person can do without it, in words that follow "or"."""
        ...


@dataclass(frozen=True, slots=True)
class HubFile:
    """One of several files of a repository."""

    repo: str
    revision: str
    path: str
    sha256: str = ""
    size: int = 0
    otherwise: str = ""
    parts: Parts | None = None

    @property
    def file(self) -> str:
        """What it is called here: its name without the folders of the repository."""
        return PurePosixPath(self.path).name

    @property
    def url(self) -> str:
        """The page where a person finds it."""
        return f"https://huggingface.co/{self.repo}"
