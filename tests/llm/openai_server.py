"""A server of the tests' own that speaks the OpenAI protocol, and can be as bad as servers are."""

import json
import math
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pdfqa_core.interfaces import Message
from pdfqa_core.streaming import complete

ASK = [Message("user", "Hello?")]
KEY = "sk-very-secret"


class FakeServer(ThreadingHTTPServer):
    """Answers GET and POST with what stands in `pages`, chat completions with `lines`, after the `failures`."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = {"/v1/models": {"data": [{"id": "served-model"}]}}
        self.requests, self.failures, self.lines, self.silence, self.cut = [], [], [], 0.0, False
        self.reply = None
        self.gone = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def chats(self):
        return [body for path, _, body in self.requests if path == "/v1/chat/completions"]

    def say(self, *pieces, finish_reason=None, usage=None):
        events = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
        events[-1]["choices"][0]["finish_reason"] = finish_reason
        if usage is not None:
            events.append({"choices": [], "usage": usage})
        self.lines = [f"data: {json.dumps(event)}" for event in events] + ["data: [DONE]"]

    def tell(self, probabilities):
        tokens = [{"token": token, "logprob": math.log(p)} for token, p in probabilities.items()]
        self.reply = {"choices": [{"logprobs": {"content": [{"top_logprobs": tokens}]}}]}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers), None))
        self._page()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.path not in ("/v1/chat/completions", "/v1/completions"):
            self._page(body)
        elif self.server.failures:
            self._fail(*self.server.failures.pop(0))
        elif self.server.reply is not None:
            self._send(200, self.server.reply)
        else:
            self._stream()

    def _stream(self):
        self.send_response(200)
        self.end_headers()
        try:
            for line in self.server.lines:
                self.wfile.write(f"{line}\n\n".encode())
                self.wfile.flush()
                time.sleep(self.server.silence)
        except OSError:
            self.server.gone.set()
        if self.server.cut:
            self.connection.shutdown(socket.SHUT_RDWR)

    def _fail(self, status, headers=()):
        if status == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        reason = f"the reason, for the key {self.headers.get('Authorization', '')}"
        self._send(status, {"error": {"message": reason}}, headers)

    def _page(self, body=None):
        page = self.server.pages.get(self.path)
        page = page(body) if callable(page) else page
        self._send(404 if page is None else 200, page or {"error": {"message": "no such page"}})

    def _send(self, status, data, headers=()):
        data = json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def text_of(llm, **options):
    return "".join(complete(llm, ASK, max_tokens=9, **options))
