"""A balancer that knows nothing of pages: each request goes to another process than the one before."""

from __future__ import annotations

import http.client
import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Balancer(ThreadingHTTPServer):
    """Sends each request to the next of some servers, or to the one after it where nobody listens."""

    daemon_threads = True

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.passed: Counter[str] = Counter()
        self._places = [urlsplit(url).netloc for url in urls]
        self._turn = itertools.cycle(range(len(urls)))
        self._lock = threading.Lock()

    def order(self) -> list[str]:
        """Return the servers, the one whose turn it is first."""
        with self._lock:
            first = next(self._turn)
        return [*self._places[first:], *self._places[:first]]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that leave."""


class Passing(BaseHTTPRequestHandler):
    """Passes one request on and its answer back, as it comes."""

    server: Balancer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {**dict(self.headers.items()), "X-Forwarded-For": self.client_address[0], "Connection": "close"}
        for place in self.server.order():
            connection = http.client.HTTPConnection(place, timeout=300)
            try:
                connection.connect()
            except OSError:
                continue
            self.server.passed[place] += 1
            try:
                connection.request(self.command, self.path, body or None, headers)
                self._pass_back(connection.getresponse())
            finally:
                connection.close()
            return
        self.send_error(502)

    do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815

    def _pass_back(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.end_headers()
        while piece := answer.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *_words: Any) -> None:
        """Write nothing."""


@contextmanager
def balancing(urls: Sequence[str]) -> Iterator[Balancer]:
    """Give a balancer that runs until the block ends."""
    with Balancer(urls) as balancer:
        threading.Thread(target=balancer.serve_forever, daemon=True).start()
        yield balancer
        balancer.shutdown()
