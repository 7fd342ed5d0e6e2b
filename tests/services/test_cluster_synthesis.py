"""Questions that a cluster's workers write are those of this computer, in the same order, with the same outcomes."""

from __future__ import annotations

import json
import math

import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.synthesis import BY_RULES, Made, SynthesisPlan, SynthesisResult
from pdfqa_core.synthesis import FEW_SHOT, RULES, ZERO_SHOT, Example
from tests.cluster.fakes import FakeCluster
from tests.services.answering_server import answering

SHOWN = (Example("Who reads the meters?", "The meters are read by the harbour master."),)


def asking(prompt):
    """Return a question of the longest words of a prompt, the same for some passages, or a few of its first words."""
    if "as few as possible." in prompt:
        return " ".join(json.loads(prompt)[-1]["content"].split()[: 2 + len(prompt) % 2])
    words = sorted({word.strip(".,;:()\\n") for word in prompt.split() if word.isalpha()}, key=lambda w: (len(w), w))
    return f"What is known of {' '.join(words[-2 - len(prompt) % 2 :])}?"


@pytest.fixture
def server():
    with answering() as one:
        one.said = asking
        yield one


def made(services, plan):
    """Make questions; return what is kept of them, and how many of which outcome there are."""
    *_, result = services.training.synthesis.make(LOCAL_OWNER, plan, services.settings)
    assert isinstance(result, SynthesisResult)
    return [(one.passage_id, one.text, one.kind, one.model, one.outcome, one.reason)
            for one in services.training.synthesis.kept.list(LOCAL_OWNER)], result  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "of_a_task"),
    [
        (SynthesisPlan(RULES, per_document=0, per_passage=3), BY_RULES),
        (SynthesisPlan(FEW_SHOT, per_document=8, per_passage=2, examples=SHOWN), 1),
    ],
)
def test_the_questions_are_those_of_this_computer(opened, server, plan, of_a_task):
    cluster = FakeCluster()
    here, mine = made(opened(server.settings), plan)
    there, theirs = made(opened(server.settings, cluster), plan)
    assert there == here
    assert theirs == mine
    assert len({reason for *_, reason in here}) > 1
    assert cluster.sizes == [math.ceil(mine.passages / of_a_task)]


def test_a_stop_keeps_what_is_made_and_the_rest_is_made_later(opened, server):
    cluster, plan = FakeCluster(), SynthesisPlan(ZERO_SHOT, per_document=5)
    services = opened(server.settings, cluster)
    making = services.training.synthesis.make(LOCAL_OWNER, plan, services.settings, task="making")
    for event in making:
        if isinstance(event, Made):
            services.tasks.stop("making")
            break
    with pytest.raises(StoppedError, match="What was made is kept; start again"):
        list(making)
    kept = services.training.synthesis.kept.list(LOCAL_OWNER)
    assert len(kept) == 1
    there, result = made(services, plan)
    assert (result.done_before, len({passage for passage, *_ in there})) == (1, 5)
    assert cluster.sizes == [5, 4]


def test_a_model_of_this_computer_writes_here_and_rules_do_not(open_services, fake_llm):
    cluster = FakeCluster()
    services = open_services(llm=fake_llm, cluster=cluster)
    fake_llm.enqueue(["Where is the harbour of the long pipe?", "There."] * 2)
    list(services.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(ZERO_SHOT, per_document=2), services.settings))
    assert cluster.sizes == []
    list(services.training.synthesis.make(LOCAL_OWNER, SynthesisPlan(RULES), services.settings))
    assert cluster.sizes == [1]
