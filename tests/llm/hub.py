"""A stand-in for the Hugging Face hub on this computer: files with checksum, commit and ranges, and ways to fail."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pdfqa_core.llm import catalogue

COMMIT = "c" * 40


@dataclass
class Hub:
    """What the server offers and how it behaves. `files` are by path ("owner/name/resolve/main/file.gguf").

    `slow`: seconds between two pieces of 64 KB. `drop_after`: how many bytes of a body are sent before the connection
    is closed; `drops`: how many times. `wrong`: sends other bytes than it announces. `status` and `code` refuse.
    `resumes`: whether ranges are honoured. `cdn`: bodies come from another address, as from the hub's.
    `etag` is announced of all files instead of their SHA-256, `etags` of single ones by path.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    slow: float = 0.0
    drop_after: int = 0
    drops: int = 0
    wrong: bool = False
    status: int = 0
    code: str = ""
    resumes: bool = True
    cdn: bool = False
    etag: str | None = None
    etags: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def ranges(self) -> list[str]:
        """Return the Range header of each GET, "" where there was none."""
        gets = [headers for method, path, headers in self.requests if method == "GET" and "/resolve/" in path]
        return [headers.get("range", "") for headers in gets]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def hub(self) -> Hub:
        return self.server.hub  # type: ignore[attr-defined]

    def log_message(self, *_arguments) -> None:
        pass

    def _take(self, method: str) -> bytes | None:
        hub = self.hub
        hub.requests.append((method, self.path, {k.lower(): v for k, v in self.headers.items()}))
        path = self.path.split("?")[0].lstrip("/").removeprefix("cdn/")
        if hub.status or path not in hub.files:
            self.send_response(hub.status or 404)
            code = hub.code or ("" if hub.status else "EntryNotFound")
            if code:
                self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        return hub.files[path]

    def do_HEAD(self) -> None:
        body = self._take("HEAD")
        if body is None:
            return
        etag = hashlib.sha256(body).hexdigest() if self.hub.etag is None else self.hub.etag
        etag = self.hub.etags.get(self.path.split("?")[0].lstrip("/"), etag)
        self.send_response(302 if self.hub.cdn else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Linked-Size", str(len(body)))
        self.send_header("X-Linked-ETag", f'"{etag}"')
        self.send_header("ETag", f'"{etag}"')
        if self.hub.cdn:
            host = self.hub.url.replace("127.0.0.1", "localhost")
            self.send_header("Location", f"{host}/cdn{self.path}?signature=1")
            self.send_header("Content-Length", "0")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()

    def do_GET(self) -> None:
        body, hub = self._take("GET"), self.hub
        if body is None:
            return
        found = re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) if hub.resumes else None
        start = int(found[1]) if found else 0
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        rest = bytes(len(body) - start) if hub.wrong else body[start:]
        dropping = hub.drops > 0
        hub.drops -= dropping
        with suppress(OSError):
            self._send(rest[: hub.drop_after] if dropping else rest)
            if dropping:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

    def _send(self, data: bytes) -> None:
        if not self.hub.slow:
            self.wfile.write(data)
            return
        for start in range(0, len(data), 65536):
            self.wfile.write(data[start : start + 65536])
            time.sleep(self.hub.slow)


@contextmanager
def serving() -> Iterator[Hub]:
    """Serve a hub on a free port of this computer."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    hub = Hub()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    server.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def offering(monkeypatch: pytest.MonkeyPatch, name: str, body: bytes) -> Iterator[Hub]:
    """Serve a hub that has other bytes under a model's name; the checksums of the catalogue are taken out."""
    known = tuple(replace(one, sha256="", revision="main") for one in catalogue.read_catalogue())
    monkeypatch.setattr(catalogue, "read_catalogue", lambda: known)
    entry = catalogue.entry(name)
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.files[f"{entry.repo}/resolve/main/{entry.file}"] = body
        yield hub
