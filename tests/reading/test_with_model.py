"""The generative reader with the embedded model: what is read again, and what always fits."""

import importlib.util

import pytest

from pdfqa_core.llm import LlamaCpp
from pdfqa_core.llm.catalogue import entry, packaged_file
from pdfqa_core.reading import GenerativeReader
from tests.reading.helpers import hits

pytestmark = pytest.mark.model

PLAN = "The plan began in 2010. The deductible is $2,000 per year. Emergency care is covered everywhere. " * 3
BOOK = "Employees get 25 days of leave. Leave must be requested two weeks ahead. Sick leave is not limited. " * 3


@pytest.fixture(scope="module")
def llm():
    path = packaged_file(entry("smollm2-135m"))
    if path is None or importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("the embedded model or llama-cpp-python is not installed")
    model = LlamaCpp(path, name="smollm2-135m", context_size=512)
    yield model
    model.unload()


def test_a_second_question_on_the_same_passages_reads_only_itself(llm):
    reader = GenerativeReader(llm, max_tokens=1)
    one, two = hits(PLAN, BOOK)
    asked = [("How high is the deductible?", [one, two]), ("Why is leave limited?", [two, one])]
    prompts = [reader.messages(question, reader.fitting(question, found)) for question, found in asked]
    cold, again = (list(llm.stream(prompt, max_tokens=1))[-1].evaluated_tokens for prompt in prompts)
    own = llm.count_tokens(reader.messages("Why is leave limited?", None))
    assert again <= own < cold
