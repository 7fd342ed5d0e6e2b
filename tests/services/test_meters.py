"""What is counted for Prometheus."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from pdfqa_core.services import LOCAL_OWNER, Services
from tests.services.helpers import BM25, METERS, WORDS, asked
from tests.serving_fakes import PDF, FakeModels


def numbers(services: Services) -> dict[tuple[str, ...], float]:
    text, kind = services.tasks.meters.text()
    assert kind.startswith("text/plain")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_answers_phases_tokens_documents_and_memory_are_counted(tmp_path, fake_llm):
    fake_llm.enqueue([WORDS])
    settings = BM25.changed("reading", refusal="none")
    with Services.open(tmp_path, settings, FakeModels(fake_llm)) as services:
        assert numbers(services)["pdfqa_answers_total", "answered"] == 0
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        asked(services, METERS)
        found = numbers(services)
        assert found["pdfqa_answers_total", "answered"] == 1
        assert found["pdfqa_documents", "ready"] == 1
        assert found["pdfqa_tokens_total", "written"] == len(WORDS.split())
        for phase in ("rewrite", "search", "read", "check", "write", "total"):
            assert found["pdfqa_answer_seconds_count", phase] == 1, phase
        assert found["pdfqa_tokens_per_second",] > 0
        assert found["pdfqa_memory_bytes", "server"] > 10**7
        assert found["pdfqa_work", "answers"] == found["pdfqa_work", "files to read"] == 0
        assert METERS not in str(found)
