"""Models that metrics take, over a server of the test's own."""

import json
import threading

import pytest

from pdfqa_core.errors import ModelError
from pdfqa_core.llm import OpenAICompatible
from pdfqa_core.metrics.llm_judge import JudgeItem, judge_answers
from pdfqa_core.models.metrics import nli_tagger, remembering, token_embedder
from pdfqa_core.settings import LLMSettings
from tests.llm.openai_server import FakeServer

ITEMS = [JudgeItem(f"question {n}?", ("gold",), "answer") for n in range(6)]


@pytest.fixture
def server():
    made = FakeServer()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.gone.set()
    made.shutdown()
    made.server_close()


def judged(server, folder):
    settings = LLMSettings(engine="openai", model="", url=server.url)
    llm = remembering(OpenAICompatible(server.url), folder, settings)
    return judge_answers(ITEMS, llm), llm


def test_a_server_judges_several_items_at_once_and_a_second_run_asks_nothing(server, tmp_path):
    server.tell({"Yes": 0.7, "No": 0.2, "Maybe": 0.1})
    first, llm = judged(server, tmp_path)
    assert (llm.name, llm.parallel) == ("served-model", 4)
    assert [decision.source for decision in first] == ["probabilities"] * 6
    assert first[0].probability == pytest.approx(7 / 9)
    asked = len(server.chats)
    assert asked == 6
    second, llm = judged(server, tmp_path)
    assert second == first
    assert (len(server.chats), llm.remembered) == (asked, 6)
    server.pages["/v1/models"] = {"data": [{"id": "another-model"}]}
    judged(server, tmp_path)
    assert len(server.chats) == 2 * asked


def test_a_server_without_probabilities_is_read_by_the_first_word(server, tmp_path):
    server.say("No", ".")
    found, _ = judged(server, tmp_path)
    assert [(decision.value, decision.source) for decision in found] == [(False, "first word")] * 6
    formats = [body["response_format"]["json_schema"]["schema"] for body in server.chats if "response_format" in body]
    assert formats[0]["properties"] == {"answer": {"type": "string", "enum": ["Yes", "No"]}}
    assert json.dumps(server.chats[0]["messages"]).count("Is the predicted answer correct?") == 1


def test_models_that_are_not_there_are_told(tmp_path):
    for make in (token_embedder, nli_tagger):
        with pytest.raises(ModelError, match="safetensors"):
            make(str(tmp_path))
