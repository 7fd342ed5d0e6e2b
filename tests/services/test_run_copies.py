"""Runs that go to another workspace, and how they were made, in words."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import RunState
from pdfqa_core.services import LOCAL_OWNER, Services
from tests.conftest import FakeLLM
from tests.services.answering_server import answering
from tests.services.helpers import BM25, LITERAL
from tests.services.test_runs import QUESTIONS, SQUAD, done, request
from tests.serving_fakes import FakeModels


def test_a_run_goes_to_another_workspace_and_is_scored_there_as_here(services, write, tmp_path):
    run_id, found = done(services, request("answers", write(SQUAD), evidence=("given",)))
    data = services.evaluation.exported(LOCAL_OWNER, run_id)
    assert data == services.evaluation.exported(LOCAL_OWNER, run_id)
    with pytest.raises(UsageError, match="here already"):
        services.evaluation.take_in(LOCAL_OWNER, data, "run.zip")
    with Services.open(tmp_path / "other", LITERAL, FakeModels()) as other:
        taken = other.evaluation.take_in(LOCAL_OWNER, data, "run.zip")
        assert (taken.id, taken.results) == (run_id, found)
        assert other.evaluation.runs.predictions(LOCAL_OWNER, run_id) == services.evaluation.runs.predictions(
            LOCAL_OWNER, run_id
        )
        *_, again = other.evaluation.go(LOCAL_OWNER, run_id)
        assert again.systems == found.systems
        assert other.evaluation.begin(LOCAL_OWNER, request("answers", write(SQUAD), evidence=("given",))).id == run_id
    for wrong, message in ((b"PK", "holds no run"), (data[:-40], "holds no run")):
        with pytest.raises(UsageError, match=message):
            services.evaluation.take_in(LOCAL_OWNER, wrong, "x.zip")


def edited(data, change):
    """Return a run's ZIP as somebody hands it on who changed its content, unfinished and without answers."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(parts["run.json"])
    content["run"] |= {"state": "stopped", "results": None, "id": "f" * 32}
    content["predictions"] = []
    system = content["run"]["plan"]["systems"][0]
    settings = json.loads(system["settings"])
    change(content["run"]["plan"], settings)
    system["settings"] = json.dumps(settings)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, part in (parts | {"run.json": json.dumps(content)}).items():
            archive.writestr(name, part)
    return packed.getvalue()


def test_a_run_from_a_file_asks_this_machines_server_with_its_key_and_no_other(opened, write, monkeypatch):
    monkeypatch.setenv("PDFQA_LLM_API_KEY", "sk-of-the-owner")
    with answering() as ours, answering() as theirs:
        services = opened(ours.settings)
        wanted = request("answers", write(QUESTIONS), systems={"served": ours.settings})
        run_id, found = done(services, wanted)
        before = len(ours.prompts)

        def another_machine(plan, settings):
            settings["llm"] |= {"url": theirs.url, "threads": 64, "models_folder": "/srv/models", "gpu_layers": 99}
            settings["extraction"] |= {"workers": 64, "memory_mb": 900_000}
            settings["retrieval"]["index"] = "lance"
            settings["server"] = {"host": "0.0.0.0"}
            settings["llm"]["max_tokens"] = 77

        data = edited(services.evaluation.exported(LOCAL_OWNER, run_id), another_machine)
        taken = services.evaluation.take_in(LOCAL_OWNER, data, "run.zip")
        assert taken.state is RunState.STOPPED
        (system,) = taken.plan.systems
        asked = services.evaluation._settings(taken, system)
        assert asked == ours.settings.changed("llm", max_tokens=77)
        *_, again = services.evaluation.go(LOCAL_OWNER, taken.id)
        assert len(again.systems[0].items) == len(found.systems[0].items)
        assert (theirs.requests, theirs.prompts) == ([], [])
        assert len(ours.prompts) > before
        assert {headers["Authorization"] for _, headers, _ in ours.requests} == {"Bearer sk-of-the-owner"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan, _: plan["systems"][0].update(model="another"), "literal asks another .* in use here is fake"),
        (lambda _, settings: settings["llm"].update(context_size=131072), "context 131,072"),
        (lambda _, settings: settings["retrieval"].update(reranker="somebody/model"), "not known here: somebody/model"),
        (lambda _, settings: settings["retrieval"].update(embedding_model="/srv/m"), "not known here: /srv/m"),
        (lambda plan, _: plan["options"].update(nli="/srv/nli"), "not known here: /srv/nli"),
    ],
)
def test_a_run_from_a_file_that_names_other_models_says_so_and_stays_as_it_was(open_services, write, change, message):
    services = open_services(BM25.changed("llm", model="fake.gguf"), FakeLLM())
    run = services.evaluation.begin(
        LOCAL_OWNER, request("answers", write(QUESTIONS), systems={"literal": services.settings})
    )
    data = edited(services.evaluation.exported(LOCAL_OWNER, run.id), change)
    taken = services.evaluation.take_in(LOCAL_OWNER, data, "run.zip")
    with pytest.raises(UsageError, match=message):
        list(services.evaluation.go(LOCAL_OWNER, taken.id))
    assert services.evaluation.runs.get(LOCAL_OWNER, taken.id).state is RunState.STOPPED
