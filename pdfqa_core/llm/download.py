"""Files of the Hugging Face hub onto this disk: resumed after an interruption, stopped within a second, checked.

A file gets its name only when it is complete and its SHA-256 is right; until then it lies in the folder `partial`
beside it, where nothing looks for models. Where a file is and what it should be comes from huggingface_hub, which
honours HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE; its own downloader is not used because it cannot be stopped.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import re
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.llm.catalogue import CatalogueEntry
from pdfqa_core.llm.server import cut
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress, StopSignal

if TYPE_CHECKING:
    import httpx
    from huggingface_hub import HfFileMetadata

PARTIAL = "partial"  # the folder of unfinished files
SPARE = 200_000_000  # bytes of disk that stay free
RETRIES = 4  # tries without a single new byte before it gives up
PAUSE = 0.5  # seconds before the first retry, doubled for each further one
TIMEOUT = 20.0  # seconds of silence after which a connection counts as broken
POLL = 0.1  # seconds between two looks at the stop signal
PACE = 5.0  # seconds over which the speed is taken
CHUNK = 1 << 20  # bytes of a partial file that are read at once
SHA256 = re.compile(r"[0-9a-f]{64}")

_log = logging.getLogger(__name__)


class _Broken(Exception):  # noqa: N818 - never leaves this module
    """The connection ended early; trying again may help."""


def download(
    entry: CatalogueEntry, folder: Path, *, on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: StopSignal | None = None,
) -> Path:  # fmt: skip
    """Fetch a model's file into `folder` and return its path; what an earlier call has left is not fetched again.

    `on_progress` is called in this thread: Progress("checking" or "downloading", bytes, bytes, seconds left).
    Raises StoppedError if `stop` is set (what has arrived is kept), ModelError (no network, no such file, no
    permission, wrong checksum, disk full), which says what to do.
    """
    transfer = _Transfer(entry, folder)
    worker = threading.Thread(target=transfer.run, name=f"download {entry.file}", daemon=True)
    worker.start()
    try:
        shown = None
        while worker.is_alive():
            worker.join(POLL)
            if is_set(stop):
                raise StoppedError(f"The download of {entry.file} was stopped; what has arrived is kept.")
            if transfer.progress != shown:
                shown = transfer.progress
                on_progress(shown)
    finally:
        transfer.cancel()
        worker.join(POLL)
    if transfer.error is not None:
        raise transfer.error
    on_progress(transfer.progress)
    return folder / entry.file


def partial_bytes(folder: Path, file: str) -> int:
    """Return how much of a file an interrupted download has left."""
    return max((path.stat().st_size for path in _partials(folder, file)), default=0)


def remove_partial(folder: Path, file: str) -> None:
    """Remove what an interrupted download has left."""
    for path in _partials(folder, file):
        path.unlink(missing_ok=True)


def _partials(folder: Path, file: str) -> list[Path]:
    return [path for path in (folder / PARTIAL).glob("*.partial") if path.name.startswith(f"{file}.")]


class _Pace:
    """Bytes a second over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def left(self, done: int, total: int) -> float | None:
        """Return the seconds that the rest takes; None while that is unknown."""
        now = time.monotonic()
        self._seen.append((now, done))
        while now - self._seen[0][0] > PACE:
            self._seen.popleft()
        (then, before) = self._seen[0]
        return (total - done) * (now - then) / (done - before) if done > before and now - then > POLL else None


class _Transfer:
    """One download, in a thread of its own that ends when it is cancelled, whatever the server does."""

    def __init__(self, entry: CatalogueEntry, folder: Path) -> None:
        self.progress = Progress("checking")
        self.error: PdfQAError | None = None
        self._entry = entry
        self._folder = folder
        self._cancelled = threading.Event()
        self._response: httpx.Response | None = None
        self._pace = _Pace()
        self._digest = hashlib.sha256()
        self._done = 0

    def cancel(self) -> None:
        """End the connection; a read that waits for the server wakes up."""
        self._cancelled.set()
        cut(self._response)

    def run(self) -> None:
        try:
            self._fetch_all()
        except PdfQAError as error:
            self.error = error
        except OSError as error:
            self.error = self._disk_error(error)
        except Exception as error:  # noqa: BLE001 - told to the one who waits
            _log.exception("the download of %s failed", self._entry.file)
            self.error = ModelError(f"{self._entry.file} was not downloaded: {error}.", "Try again.")

    def _disk_error(self, error: OSError) -> ModelError:
        if error.errno == errno.ENOSPC:
            return ModelError(
                f"The disk is full; {self._entry.file} is not complete.",
                "Free some space and download it again: it goes on where it ended.",
            )
        reason = error.strerror or str(error)
        return ModelError(f"{self._entry.file} cannot be written: {reason}.", f"Check the folder {self._folder}.")

    # ------------------------------------------------------------ the steps

    def _fetch_all(self) -> None:
        metadata = self._metadata()
        expected, size = self._expected(metadata), metadata.size
        if not size:
            raise ModelError(f"The hub does not say how large {self._entry.file} is.", "Choose another model.")
        folder = self._folder / PARTIAL
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{self._entry.file}.{expected[:16]}.partial"
        with _once(folder / f"{self._entry.file}.lock", self._entry.file):
            for other in _partials(self._folder, self._entry.file):
                if other != partial:
                    other.unlink()
            self._check_disk(size, partial)
            self._resume(partial, size)
            self._receive(metadata, partial, size)
            if not self._cancelled.is_set():
                self._finish(partial, expected)

    def _expected(self, metadata: HfFileMetadata) -> str:
        """Return the checksum that the file must have."""
        known, said = self._entry.sha256, str(metadata.etag or "").lower()
        if not SHA256.fullmatch(said):
            said = ""
        if known and said and known != said:
            raise ModelError(
                f"{self._entry.file} on the hub is not the file that the catalogue knows (its checksum differs).",
                "Update the program, or download the file yourself and add it by its path.",
            )
        if not (known or said):
            raise ModelError(
                f"There is no checksum for {self._entry.file}, so it cannot be checked.", "Choose another model."
            )
        return known or said

    def _check_disk(self, size: int, partial: Path) -> None:
        have = partial.stat().st_size if partial.exists() else 0
        free = shutil.disk_usage(self._folder).free
        if free < size - have + SPARE:
            raise ModelError(
                f"{self._entry.file} needs {(size - have) / 1e6:,.0f} MB and {SPARE / 1e6:.0f} MB to spare; "
                f"{free / 1e6:,.0f} MB are free.",
                "Free some space, or choose a smaller model.",
            )

    def _resume(self, partial: Path, size: int) -> None:
        """Take up what is there already; too long a file is begun anew."""
        have = partial.stat().st_size if partial.exists() else 0
        if have > size:
            self._begin_anew(partial)
        elif have:
            with partial.open("rb") as file:
                while (chunk := file.read(CHUNK)) and not self._cancelled.is_set():
                    self._digest.update(chunk)
                    self._done += len(chunk)
                    self.progress = Progress("checking", self._done, size)

    def _begin_anew(self, partial: Path) -> None:
        partial.unlink(missing_ok=True)
        self._digest, self._done = hashlib.sha256(), 0

    def _receive(self, metadata: HfFileMetadata, partial: Path, size: int) -> None:
        """Bring the partial file to its size, over several connections if need be."""
        failures = 0
        while self._done < size and not self._cancelled.is_set():
            before = self._done
            try:
                self._receive_once(metadata.location, partial, size)
            except _Broken as error:
                failures = 0 if self._done > before else failures + 1
                if failures >= RETRIES:
                    raise self._unreachable(str(error)) from error
                if not self._cancelled.wait(PAUSE * 2**failures):
                    with contextlib.suppress(ModelError):
                        metadata = self._metadata()  # addresses are signed and expire

    def _receive_once(self, location: str, partial: Path, size: int) -> None:
        with self._get(location) as response:
            if response.status_code not in (200, 206):
                raise _Broken(f"the server answered {response.status_code}")
            start = _first_byte(response)
            if start != self._done:
                self._begin_anew(partial)
                if start:
                    raise _Broken("the server sent another part of the file than the one asked for")
            with partial.open("ab") as file:
                for chunk in response.iter_raw():
                    if self._cancelled.is_set():
                        break
                    if self._done + len(chunk) > size:
                        self._begin_anew(partial)
                        raise _Broken("the server sent more than the file holds")
                    file.write(chunk)
                    self._digest.update(chunk)
                    self._done += len(chunk)
                    self.progress = Progress("downloading", self._done, size, self._pace.left(self._done, size))
                file.flush()
                os.fsync(file.fileno())
        if self._done < size and not self._cancelled.is_set():
            raise _Broken("the connection broke off")

    def _finish(self, partial: Path, expected: str) -> None:
        if self._digest.hexdigest() != expected:
            partial.unlink()
            raise ModelError(
                f"What arrived as {self._entry.file} has a wrong checksum and was thrown away.",
                "Download it again; if that does not help, choose another model.",
            )
        partial.replace(self._folder / self._entry.file)
        self.progress = Progress("downloading", self._done, self._done, 0.0)

    # ------------------------------------------------------------ the hub

    def _endpoint(self) -> str | None:
        return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None

    def _metadata(self) -> HfFileMetadata:
        """Ask the hub where the file is and what it should be."""
        from huggingface_hub import get_hf_file_metadata, get_token, hf_hub_url
        from huggingface_hub.errors import (  # type: ignore[attr-defined]
            HfHubHTTPError,
            HFValidationError,
            HTTPError,
            OfflineModeIsEnabled,
        )

        endpoint = self._endpoint()
        try:
            url = hf_hub_url(self._entry.repo, self._entry.file, revision=self._entry.revision, endpoint=endpoint)
            return get_hf_file_metadata(url, token=get_token() or False, timeout=TIMEOUT, endpoint=endpoint)
        except HfHubHTTPError as error:
            raise self._refused(error) from error
        except OfflineModeIsEnabled as error:
            raise ModelError(
                f"{self._entry.file} cannot be downloaded: HF_HUB_OFFLINE is set.",
                "Unset it, or add a model file of this computer by its path.",
            ) from error
        except HFValidationError as error:
            raise ModelError(f"{self._entry.repo!r} is not the name of a repository: {error}", "Correct it.") from error
        except (HTTPError, OSError) as error:
            raise self._unreachable(str(error) or type(error).__name__) from error

    def _unreachable(self, reason: str) -> ModelError:
        host = urlsplit(self._endpoint() or "https://huggingface.co").netloc
        return ModelError(
            f"{self._entry.file} was not downloaded from {host}: {reason}.",
            "Check the network and try again: it goes on where it ended. Or add a model file by its path.",
        )

    def _refused(self, error: Any) -> ModelError:
        """Return the message for an answer of the hub that is an error."""
        from huggingface_hub.errors import GatedRepoError

        status = error.response.status_code if error.response is not None else 0
        place = f"huggingface.co/{self._entry.repo}"
        messages = {
            401: (
                f"The hub lets nobody have {place} without signing in (401), or there is no such repository.",
                "Set HF_TOKEN to a token of your account that may read it, and start the app again.",
            ),
            403: (
                f"{place} asks its users to accept a licence first.",
                "Accept it on that page, then set HF_TOKEN to a token of your account and start the app again.",
            ),
            404: (
                f"There is no {self._entry.file} of revision {self._entry.revision} at {place} (404).",
                "Update the program, or choose another model.",
            ),
        }
        message = messages.get(403 if isinstance(error, GatedRepoError) else status)
        return ModelError(*message) if message else self._unreachable(f"the hub answered {status}")

    @contextlib.contextmanager
    def _get(self, location: str) -> Iterator[httpx.Response]:
        """Give the response to a request for the rest of the file."""
        import httpx
        from huggingface_hub import get_token

        headers = {"Accept-Encoding": "identity", "User-Agent": "pdfqa"}
        if self._done:
            headers["Range"] = f"bytes={self._done}-"
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
                if self._cancelled.is_set():
                    raise _Broken("it was cancelled")
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _Broken(str(error) or type(error).__name__) from error
        finally:
            self._response = None


def _first_byte(response: httpx.Response) -> int:
    """Return where in the file the body of a response begins."""
    if response.status_code == 200:
        return 0
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(found[1]) if found else 0


@contextlib.contextmanager
def _once(lock: Path, file: str) -> Iterator[None]:
    """Hold the lock of a file. Raises ModelError if another download of it is under way."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(lock, timeout=1.0):
            yield
    except Timeout as error:
        raise ModelError(f"{file} is being downloaded already.", "Wait for it.") from error
