"""The models of a run: each is waited for, and a run that is paused and gone on with never asks the wrong one."""

from __future__ import annotations

import pytest

from pdfqa_core.errors import StoppedError
from pdfqa_core.models import ModelStatus, State
from pdfqa_core.services import LOCAL_OWNER
from tests.conftest import FakeLLM
from tests.services.helpers import BM25
from tests.services.test_runs import done, request
from tests.serving_fakes import FakeLanguage

ROWS = [{"id": "a", "question": "What do storks eat?", "answer": "Frogs."}]
OTHER = BM25.changed("llm", model="smollm2-135m")


class Switching(FakeLanguage):
    """A language model that takes some looks until it is another one."""

    def __init__(self, llm, settings, coming=None):
        self.looks, self.coming, self.used = 0, None, []
        super().__init__(llm, settings, None)
        if coming is not None:
            self.use(coming)

    def use(self, wanted):
        self.used.append(wanted.model)
        self.looks, self.coming = 5, self.named(wanted)

    def stop_loading(self):
        self.coming = None

    @property
    def status(self):
        if self.coming is None:
            return ModelStatus(State.READY, "fake ready")
        self.looks -= 1
        if self.looks <= 0:
            self.settings, self.coming = self.coming, None
        return ModelStatus(State.SWITCHING, "loading")

    @status.setter
    def status(self, value):
        pass


@pytest.fixture
def asked(open_services, write):
    llm = FakeLLM()
    services = open_services(BM25, llm)
    llm.enqueue(["Frogs."])

    def ask(language):
        services.models.language = language(llm)
        return services, request("answers", write(ROWS), systems={"other": OTHER}, evidence=("none",))

    return ask


def test_another_model_is_loaded_for_its_system_and_the_one_before_comes_back(asked):
    services, wanted = asked(lambda llm: Switching(llm, BM25.llm))
    _, found = done(services, wanted)
    assert found.systems[0].items[0].texts["prediction"] == "Frogs."
    assert services.models.language.used == ["smollm2-135m", services.models.language.named(BM25.llm).model]


def test_a_run_that_goes_on_while_the_model_before_comes_back_waits_and_loads_its_own(asked):
    services, wanted = asked(lambda llm: Switching(llm, OTHER.llm, coming=BM25.llm))
    done(services, wanted)
    assert services.models.language.used[:2] == ["auto", "smollm2-135m"]


def test_a_run_is_stopped_while_its_model_is_loaded(asked):
    services, wanted = asked(lambda llm: Switching(llm, BM25.llm))
    run = services.runs.begin(LOCAL_OWNER, wanted)
    events = services.runs.go(LOCAL_OWNER, run.id)
    assert next(events).phase == "loading"
    services.runs.stop(run.id)
    with pytest.raises(StoppedError, match="Stopped after 0 of 1 answers"):
        list(events)
    assert (services.models.language.coming, services.models.language.used) == (None, ["smollm2-135m"])
