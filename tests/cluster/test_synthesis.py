"""Questions made on a local cluster of two workers are those of one process, each stored once."""

from __future__ import annotations

from collections import Counter

import pytest

from pdfqa_core.services import LOCAL_OWNER
from pdfqa_core.services.synthesis import Made, SynthesisPlan
from pdfqa_core.synthesis import RULES
from tests.cluster.test_ray import needs_ray
from tests.services.answering_server import answering, opened_with
from tests.serving_fakes import PDF

pytestmark = [needs_ray, pytest.mark.linux]


@pytest.fixture
def made(tmp_path):
    """Make questions with a server, and, where it is given, a cluster; return what is kept, and how often it was."""

    def run(server, plan, cluster=None):
        with opened_with(tmp_path / f"{cluster is None}", server.settings, cluster) as services:
            list(services.documents.ingest(LOCAL_OWNER, [PDF]))
            events = services.training.synthesis.make(LOCAL_OWNER, plan, server.settings)
            told = Counter(one.id for event in events if isinstance(event, Made) for one in event.questions)
            kept = services.training.synthesis.kept.list(LOCAL_OWNER)
            assert told == Counter(one.id for one in kept)
            return [(one.passage_id, one.text, one.outcome, one.reason) for one in kept]

    return run


def test_questions_by_rules_are_those_of_one_process(cluster, made):
    plan = SynthesisPlan(RULES, per_document=0, per_passage=2)
    with answering() as server:
        assert made(server, plan, cluster) == made(server, plan) != []
