"""A language model server whose answers depend on nothing but the prompt, with settings and services that use it."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

from pdfqa_core.models import Models
from pdfqa_core.services import Services
from tests.llm.openai_server import FakeServer, Handler
from tests.services.helpers import BM25


class AnsweringHandler(Handler):
    """Answers chats with what `server.said` makes of the prompt, after `server.seconds`.

    A prompt with `server.refused` in it is answered by 403; `server.prompts` are the others.
    """

    def do_POST(self):  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self._page(body)
            return
        prompt = json.dumps(body["messages"])
        if self.server.refused and self.server.refused in prompt:
            self._send(403, {"error": {"message": "not for you"}})
            return
        time.sleep(self.server.seconds)
        event = {"choices": [{"delta": {"content": self.server.said(prompt)}, "finish_reason": "stop"}]}
        self._send_lines(f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n")
        self.server.prompts.append(prompt)

    def _send_lines(self, text):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())


def numbered(prompt):
    """Return a sentence that belongs to the prompt."""
    return f"It is number {hashlib.sha256(prompt.encode()).hexdigest()[:6]}."


class AnsweringServer(FakeServer):
    def __init__(self, seconds=0.0):
        super().__init__()
        self.RequestHandlerClass = AnsweringHandler
        self.seconds, self.refused, self.prompts, self.said = seconds, "", [], numbered

    @property
    def settings(self):
        """Settings whose language model is this server, found by words alone."""
        return BM25.changed("llm", engine="openai", url=self.url, model="served-model", context_size=4096)


@contextmanager
def answering(seconds=0.0):
    """Give a server that runs."""
    with AnsweringServer(seconds) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def opened_with(folder, settings, cluster=None):
    """Return services with real models and, perhaps, a cluster."""
    return Services.open(folder, settings, replace(Models.open(folder, settings), cluster=cluster))


def without_seconds(predictions):
    """Return predictions without what differs from one time to another."""
    return {key: replace(one, seconds=None, first_word=None, rate=None) for key, one in predictions.items()}
