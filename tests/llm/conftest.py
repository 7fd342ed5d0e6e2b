import threading

import pytest

from pdfqa_core.llm import server as server_module
from tests.llm.openai_server import FakeServer


@pytest.fixture
def server():
    server = FakeServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def quick(monkeypatch):
    """Wait hundredths of a second where seconds are waited for."""
    monkeypatch.setattr(server_module, "FIRST_WAIT", 0.02)
