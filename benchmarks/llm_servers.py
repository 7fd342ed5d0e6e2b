"""Questions at once against one and against two language model servers, which stand in for real ones.

Usage: python benchmarks/llm_servers.py [--quick] [--requests 50] [--slots 8] [--tokens 100] [--rate 40]
Each stand-in answers `--slots` requests at a time, `--tokens` tokens each at `--rate` a second; others wait. It
measures what sharing out adds and what a second server brings, not how fast a model is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.interfaces import Message  # noqa: E402
from pdfqa_core.llm import OpenAICompatible  # noqa: E402
from pdfqa_core.llm.several import servers_at  # noqa: E402
from pdfqa_core.streaming import complete  # noqa: E402


class StandIn(ThreadingHTTPServer):
    """Streams words at a pace, some requests at a time."""

    daemon_threads = True
    request_queue_size = 200

    def __init__(self, slots: int, rate: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.slots = threading.Semaphore(slots)
        self.pause = 1 / rate
        self.answered = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """Lists one model, and streams answers."""

    server: StandIn

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """List the model."""
        self._send(json.dumps({"data": [{"id": "stand-in"}]}).encode() if self.path == "/v1/models" else b"null")

    def do_POST(self) -> None:
        """Answer once there is a slot."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            self._send(b"null")
            return
        with self.server.slots:
            self.send_response(200)
            self.end_headers()
            for number in range(body["max_tokens"]):
                time.sleep(self.server.pause)
                event = {"choices": [{"delta": {"content": f"word{number} "}, "finish_reason": None}]}
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(b'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}\n\ndata: [DONE]\n\n')
            self.server.answered += 1

    def _send(self, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def measured(count: int, options: argparse.Namespace) -> float:
    """Print how `count` servers got on with all requests at once, and return the tokens a second."""
    servers = [StandIn(options.slots, options.rate) for _ in range(count)]
    llm = servers_at(",".join(one.url for one in servers), OpenAICompatible)
    for _ in llm.prepare():
        pass
    gate = threading.Barrier(options.requests)

    def ask(number: int) -> tuple[float, float, int]:
        gate.wait()
        began, first, words = time.perf_counter(), 0.0, 0
        for piece in complete(llm, [Message("user", f"Question {number}?")], max_tokens=options.tokens):
            first = first or time.perf_counter() - began
            words += piece.count("word")
        return first, time.perf_counter() - began, words

    with ThreadPoolExecutor(options.requests) as pool:
        began = time.perf_counter()
        done = list(pool.map(ask, range(options.requests)))
        seconds = time.perf_counter() - began
    assert all(words == options.tokens for _, _, words in done), "an answer is not whole"
    rate = options.requests * options.tokens / seconds
    firsts, wholes = sorted(one[0] for one in done), [one[1] for one in done]
    shares = " + ".join(str(one.answered) for one in servers)
    print(
        f"{count} server{'s' if count > 1 else ' '}: {rate:6.0f} tokens/s, {options.requests / seconds:5.1f} "
        f"answers/s, "
        f"first word median {statistics.median(firsts):.2f} s, 95 % {firsts[int(0.95 * len(firsts)) - 1]:.2f} s, "
        f"answer median {statistics.median(wholes):.2f} s, answered {shares}"
    )
    for one in servers:
        one.shutdown()
        one.server_close()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 tokens an answer, under 45 s")
    parser.add_argument("--requests", type=int, default=50, help="at once")
    parser.add_argument("--slots", type=int, default=8, help="requests that a server answers at a time")
    parser.add_argument("--tokens", type=int, default=100, help="of each answer")
    parser.add_argument("--rate", type=float, default=40.0, help="tokens a second of each answer")
    options = parser.parse_args()
    if options.quick:
        options.tokens = 20
    ideal = min(options.requests, options.slots) * options.rate
    print(f"{options.requests} requests at once; one server writes at most {ideal:.0f} tokens/s")
    one, two = measured(1, options), measured(2, options)
    print(f"Two servers answer {two / one:.2f} x as fast as one")


if __name__ == "__main__":
    main()
