"""Questions at once against one and against two language model servers: stand-ins, or llama_cpp.server.

Usage: python benchmarks/llm_servers.py [--quick] [--requests 50] [--slots 8] [--tokens 100] [--rate 40]
       python benchmarks/llm_servers.py --llama [--requests 50] [--tokens 32]
Each stand-in answers `--slots` requests at a time, `--tokens` tokens each at `--rate` a second; others wait. It
measures what sharing out adds and what a second server brings, not how fast a model is. `--llama` asks real servers on
this computer, with the embedded SmolLM2 135M (pip install "llama-cpp-python[server]"): first one as it is started
without options, which breaks off an answer when another request comes, then one and two that do not.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.errors import PdfQAError  # noqa: E402
from pdfqa_core.interfaces import Message, Usage  # noqa: E402
from pdfqa_core.llm import OpenAICompatible  # noqa: E402
from pdfqa_core.llm.catalogue import DEFAULT, resolve  # noqa: E402
from pdfqa_core.llm.several import servers_at  # noqa: E402
from pdfqa_core.settings import LLMSettings  # noqa: E402
from pdfqa_core.settings_sources import models_path  # noqa: E402

NEEDED = "fastapi, uvicorn, sse-starlette, starlette-context, pydantic-settings"


class StandIn(ThreadingHTTPServer):
    """Streams words at a pace, some requests at a time."""

    daemon_threads = True
    request_queue_size = 200

    def __init__(self, slots: int, rate: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.slots = threading.Semaphore(slots)
        self.pause = 1 / rate
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

    def _send(self, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def stand_ins(count: int, options: argparse.Namespace) -> Iterator[list[str]]:
    """Have so many stand-ins; gives their addresses."""
    servers = [StandIn(options.slots, options.rate) for _ in range(count)]
    yield [one.url for one in servers]
    for one in servers:
        one.shutdown()
        one.server_close()


@contextmanager
def llama_servers(count: int, *arguments: str) -> Iterator[list[str]]:
    """Have so many processes of llama_cpp.server, which share the cores; gives their addresses."""
    threads, model = max(1, (os.cpu_count() or 1) // count), resolve(DEFAULT, models_path(LLMSettings()))
    ports = [free_port() for _ in range(count)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--port", str(port),
             "--n_ctx", "2048", "--n_threads", str(threads), *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for port in ports
    ]  # fmt: skip
    try:
        for process, port in zip(started, ports, strict=True):
            while not reached(port):
                if process.poll() is not None:
                    sys.exit(f"llama_cpp.server ended ({process.returncode}); its packages: {NEEDED}")
                time.sleep(0.2)
        yield [f"http://127.0.0.1:{port}/v1" for port in ports]
    finally:
        for process in started:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def reached(port: int) -> bool:
    """Whether a server answers."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/v1/models", timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def measured(what: str, urls: list[str], options: argparse.Namespace) -> float:
    """Print how servers got on with all requests at once, and return the tokens a second."""
    llm = servers_at(",".join(urls), OpenAICompatible)
    for _ in llm.prepare():
        pass
    gate = threading.Barrier(options.requests)

    def ask(number: int) -> tuple[float, float, int]:
        gate.wait()
        began, first, tokens = time.perf_counter(), 0.0, 0
        asked = [Message("user", f"Tell a long story about the number {number}.")]
        try:
            for piece in llm.stream(asked, max_tokens=options.tokens):
                if isinstance(piece, str):
                    first = first or time.perf_counter() - began
                    tokens += 1
                elif isinstance(piece, Usage):
                    return first, time.perf_counter() - began, tokens
        except PdfQAError as error:
            errors[error.what] += 1
        return 0.0, 0.0, 0

    errors: Counter[str] = Counter()
    with ThreadPoolExecutor(options.requests) as pool:
        began = time.perf_counter()
        done = [one for one in pool.map(ask, range(options.requests)) if one[2]]
        seconds = time.perf_counter() - began
    rate = sum(tokens for _, _, tokens in done) / seconds
    firsts, wholes = sorted(one[0] for one in done), [one[1] for one in done]
    times = "none whole"
    if done:
        p95 = firsts[max(0, int(0.95 * len(firsts)) - 1)]
        times = f"first word median {statistics.median(firsts):.2f} s, 95 % {p95:.2f} s, answer median "
        times += f"{statistics.median(wholes):.2f} s"
    print(f"{what}: {rate:6.1f} tokens/s, {len(done)} of {options.requests} answers whole in {seconds:.1f} s, {times}")
    for words, count in errors.most_common(3):
        print(f"  {count} x {words}")
    sys.stdout.flush()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 tokens an answer, under 45 s")
    parser.add_argument("--requests", type=int, default=50, help="at once")
    parser.add_argument("--slots", type=int, default=8, help="requests that a server answers at a time")
    parser.add_argument("--tokens", type=int, default=0, help="of each answer; 0: 100, quick 20")
    parser.add_argument("--rate", type=float, default=40.0, help="tokens a second of each answer")
    parser.add_argument("--llama", action="store_true", help="real servers with a small model, 32 tokens an answer")
    options = parser.parse_args()
    options.tokens = options.tokens or (32 if options.llama else 20 if options.quick else 100)
    if options.llama:
        with llama_servers(1) as urls:
            measured("one, as it starts", urls, options)
        whole = ("--interrupt_requests", "False")
        with llama_servers(1, *whole) as urls:
            one = measured("one              ", urls, options)
        with llama_servers(2, *whole) as urls:
            two = measured("two              ", urls, options)
        print(f"Two servers on one computer answer {two / one:.2f} x as fast as one")
        return
    ideal = min(options.requests, options.slots) * options.rate
    print(f"{options.requests} requests at once; one server writes at most {ideal:.0f} tokens/s")
    with stand_ins(1, options) as urls:
        one = measured("1 server ", urls, options)
    with stand_ins(2, options) as urls:
        two = measured("2 servers", urls, options)
    print(f"Two servers answer {two / one:.2f} x as fast as one")


if __name__ == "__main__":
    main()
