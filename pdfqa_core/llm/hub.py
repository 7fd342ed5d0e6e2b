"""A model's file from the Hugging Face hub, over several connections if need be.

Where a file is and what it should be comes from huggingface_hub, which honours HF_ENDPOINT, HF_TOKEN and
HF_HUB_OFFLINE; its own downloader is not used because it cannot be stopped.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from pdfqa_core.errors import ModelError
from pdfqa_core.llm.partial import Partial, SourceError
from pdfqa_core.llm.remote import RemoteFile
from pdfqa_core.llm.server import cut
from pdfqa_core.types import Progress

if TYPE_CHECKING:
    import httpx
    from huggingface_hub import HfFileMetadata

RETRIES = 4  # tries without a single new byte before it gives up
PAUSE = 0.5  # seconds before the first retry, doubled for each further one
TIMEOUT = 20.0  # seconds of silence after which a connection counts as broken
ASKING = 5.0  # seconds for the answer where a file is; looking up an address may take as long again
SHA256 = re.compile(r"[0-9a-f]{64}")
GIT_ID = re.compile(r"[0-9a-f]{40}")  # what the hub says of small files
T = TypeVar("T")


class _Broken(Exception):  # noqa: N818 - never leaves this module
    """The connection ended early; trying again may help."""


class Hub:
    """The hub, or the mirror that HF_ENDPOINT names. `last`: there is no other source, so it is asked patiently."""

    def __init__(self, entry: RemoteFile, *, last: bool) -> None:
        self._entry = entry
        self._retries = RETRIES if last else 1
        self._response: httpx.Response | None = None

    @property
    def name(self) -> str:
        """The host."""
        return urlsplit(self._endpoint() or "https://huggingface.co").netloc

    def cancel(self) -> None:
        """End the connection; a read that waits for the server wakes up."""
        cut(self._response)

    def fetch(self, partial: Partial) -> None:
        """Bring the partial file to its size. Raises SourceError, ModelError, OSError."""
        partial.progress = Progress(f"asking {self.name}")
        metadata = self._metadata()
        if not metadata.size:
            raise SourceError(f"{self.name} does not say how large the file is", "Choose another model.")
        partial.begin(self._expected(metadata), metadata.size)
        failures = 0
        while partial.done < partial.size and not partial.cancelled.is_set():
            before = partial.done
            try:
                self._receive(metadata.location, partial)
            except _Broken as error:
                failures = 0 if partial.done > before else failures + 1
                if failures >= self._retries:
                    raise self._unreachable(str(error)) from error
                if not partial.cancelled.wait(PAUSE * 2**failures):
                    with contextlib.suppress(ModelError):
                        metadata = self._metadata()  # addresses are signed and expire

    def _expected(self, metadata: HfFileMetadata) -> str:
        """Return the checksum that the file must have: a SHA-256, or of a small file that is not known its git id."""
        known, said = self._entry.sha256, str(metadata.etag or "").lower()
        if not known and GIT_ID.fullmatch(said):
            return said
        if not SHA256.fullmatch(said):
            said = ""
        if known and said and known != said:
            raise SourceError(
                f"what {self.name} has is not the file that the catalogue knows (its checksum differs)",
                "Update the program, or download the file yourself and add it by its path.",
            )
        if not (known or said):
            raise SourceError("there is no checksum, so it cannot be checked", "Choose another model.")
        return known or said

    def _receive(self, location: str, partial: Partial) -> None:
        with self._get(location, partial) as response:
            if response.status_code not in (200, 206):
                raise _Broken(f"it answered {response.status_code}")
            start = _first_byte(response)
            if start != partial.done:
                partial.anew()
                if start:
                    raise _Broken("it sent another part of the file than the one asked for")
            with partial.writing() as write:
                for chunk in response.iter_raw():
                    if partial.cancelled.is_set():
                        return
                    if partial.done + len(chunk) > partial.size:
                        partial.anew()
                        raise _Broken("it sent more than the file holds")
                    write(chunk)
        if partial.done < partial.size:
            raise _Broken("the connection broke off")

    def _endpoint(self) -> str | None:
        return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None

    def _metadata(self) -> HfFileMetadata:
        """Ask where the file is and what it should be."""
        from huggingface_hub import get_hf_file_metadata, get_token, hf_hub_url
        from huggingface_hub.errors import (  # type: ignore[attr-defined]
            HfHubHTTPError,
            HFValidationError,
            HTTPError,
            OfflineModeIsEnabled,
        )

        endpoint = self._endpoint()
        try:
            url = hf_hub_url(self._entry.repo, self._entry.path, revision=self._entry.revision, endpoint=endpoint)
            token = get_token() or False
            return _within(
                2 * ASKING, lambda: get_hf_file_metadata(url, token=token, timeout=ASKING, endpoint=endpoint)
            )
        except HfHubHTTPError as error:
            raise self._refused(error) from error
        except OfflineModeIsEnabled as error:
            raise ModelError(
                f"{self._entry.file} cannot be downloaded: HF_HUB_OFFLINE is set.",
                f"Unset it, or {self._entry.otherwise}.",
            ) from error
        except HFValidationError as error:
            raise SourceError(
                f"{self._entry.repo!r} is not the name of a repository: {error}", "Correct it."
            ) from error
        except (HTTPError, OSError) as error:
            raise self._unreachable(str(error) or type(error).__name__) from error

    def _unreachable(self, reason: str) -> SourceError:
        reason = re.sub(r"^\[Errno -?\d+\] ", "", reason)
        return SourceError(
            f"{self.name} does not give it ({reason})",
            f"Check the network and try again: it goes on where it ended. Or {self._entry.otherwise}.",
        )

    def _refused(self, error: Any) -> SourceError:
        """Return the message for an answer of the hub that is an error."""
        from huggingface_hub.errors import GatedRepoError

        status = error.response.status_code if error.response is not None else 0
        place = f"huggingface.co/{self._entry.repo}"
        messages = {
            401: (
                f"the hub lets nobody have {place} without signing in (401), or there is no such repository",
                "Set HF_TOKEN to a token of your account that may read it, and start the app again.",
            ),
            403: (
                f"{place} asks its users to accept a licence first",
                "Accept it on that page, then set HF_TOKEN to a token of your account and start the app again.",
            ),
            404: (
                f"there is no {self._entry.file} of revision {self._entry.revision} at {place} (404)",
                "Update the program, or choose another model.",
            ),
        }
        message = messages.get(403 if isinstance(error, GatedRepoError) else status)
        return SourceError(*message) if message else self._unreachable(f"the hub answered {status}")

    @contextlib.contextmanager
    def _get(self, location: str, partial: Partial) -> Iterator[httpx.Response]:
        """Give the response to a request for the rest of the file."""
        import httpx
        from huggingface_hub import get_token

        headers = {"Accept-Encoding": "identity", "User-Agent": "pdfqa"}
        if partial.done:
            headers["Range"] = f"bytes={partial.done}-"
        token = get_token()
        hub = urlsplit(self._endpoint() or "https://huggingface.co")
        if token and urlsplit(location)[:2] == hub[:2]:  # never to the servers that a file is passed on to
            headers["Authorization"] = f"Bearer {token}"
        try:
            with (
                httpx.Client(timeout=TIMEOUT, follow_redirects=True) as client,
                client.stream("GET", location, headers=headers) as response,
            ):
                self._response = response
                if partial.cancelled.is_set():
                    raise _Broken("it was cancelled")
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _Broken(str(error) or type(error).__name__) from error
        finally:
            self._response = None


def _within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what `ask` returns or raises; looking up a host has no limit of its own. Raises OSError after it."""
    answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put((ask(), None))
        except Exception as error:  # noqa: BLE001 - raised below, in the thread that asks
            answers.put((None, error))

    threading.Thread(target=work, name="ask the hub", daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise OSError(f"no answer within {seconds:.0f} s") from None
    if error is not None:
        raise error
    return cast(T, answer)


def _first_byte(response: httpx.Response) -> int:
    """Return where in the file the body of a response begins."""
    if response.status_code == 200:
        return 0
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(found[1]) if found else 0
