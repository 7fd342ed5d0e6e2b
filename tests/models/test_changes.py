from __future__ import annotations

import json
import threading
import time
from itertools import count

import pytest

from pdfqa_core.errors import ModelError, PdfQAError, UsageError
from pdfqa_core.llm import catalogue
from pdfqa_core.llm.hardware import Memory
from pdfqa_core.models import Encoders, LanguageModel, ModelFiles, Models, Speed, files, speed
from pdfqa_core.registry import Registry
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings, read_settings
from pdfqa_core.types import Answer, Progress, Stored
from tests.conftest import FakeLLM
from tests.llm.gguf_files import header, write
from tests.llm.hub import offering
from tests.serving_fakes import PDF, FakeEngine, WordEncoder

BM25 = Settings().changed("retrieval", retriever="bm25").changed("reading", confidence_threshold=0)
SMALL = "smollm2-360m"


class Counting(FakeEngine):
    """Writes the numbers as long as it may, or what was enqueued."""

    def write(self, schema, stop):
        if self.replies:
            yield from super().write(schema, stop)
            return
        yield Progress("reading", 0, 9)
        for number in count():
            time.sleep(0.002)
            yield f"{number} "


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Open services on a workspace whose engine is the one above, as often as one likes."""
    made = []

    def build(settings=None, **changes):
        folder = tmp_path / "workspace"
        settings = settings or read_settings(folder, {})
        settings = settings.changed("retrieval", retriever="bm25").changed("reading", confidence_threshold=0)
        settings = settings.changed("server", **changes)
        available = Registry("engine")
        available.register("llama_cpp")(Counting)
        available.register("openai")(FakeServer)
        files = ModelFiles(folder)
        language = LanguageModel(settings.llm, files, available=available)
        models = Models(Encoders(lambda *_: WordEncoder()), language, files, settings.server.demo)
        made.append(Services.open(folder, settings, models))
        return made[-1]

    yield build
    for services in made:
        services.close()


class FakeServer(FakeLLM):
    def __init__(self, url, *, model, api_key, context_size):
        super().__init__()
        self.name = model


def settle():
    while threads := [
        t for t in threading.enumerate() if t.name.startswith(("switch model", "fetch", "warm up", "measure"))
    ]:
        for thread in threads:
            thread.join(30)


def card(services, name):
    return next(one for one in services.models.files.all(services.settings.llm) if one.name == name)


# ------------------------------------------------------------------ which there are


def test_an_added_file_is_read_remembered_and_forgotten(tmp_path):
    path = write(tmp_path / "mine.gguf")
    files = ModelFiles(tmp_path / "workspace")
    assert files.add(f' "{path}" ') == str(path)
    assert files.add(str(path)) == str(path)
    found = ModelFiles(tmp_path / "workspace").all(Settings().llm)[-1]
    assert (found.title, found.licence, found.context, found.added, found.path) == (
        "Tiny",
        "mit",
        2048,
        True,
        str(path),
    )
    assert found.memory > found.size
    assert files.remove(str(path)) is False
    assert path.exists()
    assert files.added() == []


def test_a_file_of_the_catalogue_is_deleted_and_others_are_not(tmp_path):
    files = ModelFiles(tmp_path)
    files.folder.mkdir()
    entry = catalogue.entry(SMALL)
    (files.folder / "partial").mkdir()
    path, partial = files.folder / entry.file, files.folder / "partial" / f"{entry.file}.abc.partial"
    write(path)
    partial.write_bytes(b"1234")
    assert files.remove(SMALL) is True
    assert not path.exists()
    assert not partial.exists()
    with pytest.raises(UsageError, match="is not on this computer"):
        files.remove(SMALL)
    with pytest.raises(UsageError, match="comes with the program"):
        files.remove("smollm2-135m")
    with pytest.raises(UsageError, match="no model called"):
        files.remove("gigantic")


# ------------------------------------------------------------------ using


def test_a_chosen_model_answers_at_once_and_after_a_restart(opened, tmp_path):
    path = str(write(tmp_path / "mine.gguf"))
    services = opened(Settings().changed("llm", max_tokens=16))
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    before = services.settings
    services.models.language.llm().engine.enqueue(["Granite."])
    services.models.changes().use(services.models.changes().files.add(path))
    settle()
    engine = services.models.language.llm().engine
    assert engine.name == "mine"
    list(services.answers.ask(LOCAL_OWNER, "What is read every 15 minutes?", before))
    stored = list(services.answers.ask(LOCAL_OWNER, "What is read every 15 minutes?", before))[-1]
    assert isinstance(stored, Stored)
    assert stored.turn.answer.model == "mine"
    fingerprints = [s.fingerprint() for s in (before, services.models.language.running(before), services.settings)]
    assert stored.turn.answer.settings_fingerprint == fingerprints[1] == fingerprints[2] != fingerprints[0]
    assert len(services.answers.conversations.list(LOCAL_OWNER)) == 2
    services.close()
    assert opened().models.language.llm().engine.name == "mine"


def test_settings_of_the_engine_make_another_one_and_sampling_does_not(opened):
    services = opened()
    engine = services.models.language.llm().engine
    now = services.models.changes().change(temperature=0.7, top_k=5)
    settle()
    assert services.models.language.llm().engine is engine
    assert (now.temperature, services.settings.llm.top_k) == (0.7, 5)
    services.models.changes().change(context_size=1024, threads=1, batch_size=64)
    settle()
    given = services.models.language.llm().engine.given
    assert (given["context_size"], given["threads"], given["batch_size"]) == (1024, 1, 64)
    kept = json.loads((services.workspace / "models.json").read_text())["llm"]
    assert kept == {"temperature": 0.7, "top_k": 5, "context_size": 1024, "threads": 1, "batch_size": 64}


def test_a_wrong_setting_changes_nothing(opened, tmp_path):
    services = opened()
    before = services.settings
    with pytest.raises(UsageError, match="context_size"):
        services.models.changes().change(context_size=3)
    with pytest.raises(ModelError, match="does not exist"):
        services.models.changes().use(str(tmp_path / "gone.gguf"))
    with pytest.raises(UsageError, match="is not the address of a server"):
        services.models.changes().use_server("ftp://x", "")
    assert services.settings == before
    assert not (services.workspace / "models.json").exists()


def test_a_server_is_used_with_the_model_that_was_chosen(opened):
    services = opened()
    services.models.changes().use_server("http://127.0.0.1:9", "big")
    settle()
    assert services.models.language.llm().name == "big"
    assert services.settings.llm.url == "http://127.0.0.1:9/v1"
    with pytest.raises(PdfQAError, match="speed of a server"):
        list(services.models.changes().speed_test(threading.Event()))
    services.models.changes().use("smollm2-135m")
    settle()
    assert services.settings.llm.engine == "llama_cpp"


def test_a_model_in_use_is_not_removed(opened, tmp_path):
    services = opened()
    path = services.models.changes().files.add(str(write(tmp_path / "mine.gguf")))
    services.models.changes().use(path)
    settle()
    with pytest.raises(PdfQAError, match="mine is in use"):
        services.models.changes().remove(path)
    services.models.changes().use("smollm2-135m")
    settle()
    assert services.models.changes().remove(path) is False


def test_a_model_is_fetched_in_the_background_and_removed(opened, monkeypatch):
    with offering(monkeypatch, SMALL, header() + bytes(500_000)) as hub:
        hub.slow = 0.2
        services = opened()
        services.models.changes().download(SMALL)
        while not services.models.files.downloads.get(SMALL).progress.done:
            assert services.models.files.downloads.get(SMALL).state == "downloading"
        with pytest.raises(PdfQAError, match="is being downloaded"):
            services.models.changes().remove(SMALL)
        services.models.changes().files.downloads.stop(SMALL)
        settle()
        assert services.models.files.downloads.get(SMALL).state == "stopped"
        assert card(services, SMALL).partial > 0
        hub.slow = 0
        services.models.changes().download(SMALL)
        settle()
    assert services.models.files.downloads.get(SMALL).state == "done"
    assert card(services, SMALL).path
    assert services.models.changes().remove(SMALL) is True
    assert (card(services, SMALL).path, services.models.files.downloads.get(SMALL)) == ("", None)


def test_on_a_demo_visitors_look_and_change_nothing(opened, tmp_path):
    services = opened(demo=True)
    assert len(services.models.files.all(services.settings.llm)) >= 12
    with pytest.raises(PdfQAError, match="Visitors of a demo"):
        services.models.changes()
    assert not (services.workspace / "models.json").exists()


# ------------------------------------------------------------------ what suits this machine


def test_what_suits_this_machine_follows_from_its_free_memory_and_a_measured_speed(tmp_path):
    def suggested(free, rate=None):
        files = ModelFiles(tmp_path / str(free) / str(rate), machine=Memory(free, free))
        if rate is not None:
            files.keep_measured(rate * card_size)
        return {words: one.name for words, one, _ in files.suggested(Settings().llm)}

    card_size = catalogue.entry(catalogue.DEFAULT).size
    assert suggested(16 * 10**9) == {}  # nothing was measured yet
    slow, fast = suggested(16 * 10**9, 12.0), suggested(64 * 10**9, 200.0)
    assert slow["balanced"] == catalogue.DEFAULT  # the largest at twice the pace of reading
    assert catalogue.entry(slow["best that fits"]).size > card_size > catalogue.entry(slow["small and quick"]).size
    assert set(fast.values()) == {"llama-3.1-8b"}
    assert suggested(2 * 10**9, 200.0)["best that fits"] not in fast.values()  # it does not fit


def test_a_model_that_is_fetched_is_used_when_it_is_here(opened, monkeypatch):
    services = opened()
    services.models.language.llm()
    chosen = catalogue.entry("smollm2-360m")

    def fetched(entry, folder, **_):
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / entry.file)

    monkeypatch.setattr(services.models.files.downloads, "_fetch", fetched)
    services.models.changes().get(chosen.name)
    settle()
    assert services.settings.llm.model == chosen.name


def test_a_long_answer_tells_the_speed(opened, tmp_path):
    services = opened()
    services.models.changes().use(str(write(tmp_path / "mine.gguf")))
    settle()
    name, size = services.models.language.llm().name, (tmp_path / "mine.gguf").stat().st_size
    short, other, long = (
        Answer("…", model=model, completion_tokens=tokens, seconds={"write": 4.0})
        for model, tokens in ((name, 5), ("another", 40), (name, 40))
    )
    for answer in (short, other):
        services.models.language.note_speed(answer)
        assert services.models.files.expected_speed(size) is None
    services.models.language.note_speed(long)
    assert services.models.files.expected_speed(size) == pytest.approx(39 / 4)


def test_the_largest_rate_of_a_machine_is_kept(tmp_path, monkeypatch):
    known = ModelFiles(tmp_path)
    for rate, kept in ((8.0, 8.0), (20.0, 20.0), (3.0, 20.0)):  # the last one while other programs were busy
        known.keep_measured(rate)
        assert known.expected_speed(1) == kept
    monkeypatch.setattr(files.platform, "node", lambda: "another machine")
    assert known.expected_speed(1) is None
    known.keep_measured(3.0)
    assert known.expected_speed(1) == 3.0


@pytest.mark.parametrize(("waiting", "measured"), [(0, True), (1, False)])
def test_a_speed_is_measured_after_the_start_unless_somebody_needs_the_model(
    opened, tmp_path, monkeypatch, waiting, measured
):
    monkeypatch.setattr(speed, "AT_START", 60.0)
    monkeypatch.setattr(speed, "QUIET", 0.0)
    monkeypatch.setattr(Counting, "waiting", waiting)
    services = opened(Settings().changed("llm", model=str(write(tmp_path / "mine.gguf"))))
    services.models.warm_up()
    settle()
    assert bool(services.models.language.llm().engine.history) is measured
    assert bool(services.models.files.expected_speed(1)) is measured


# ------------------------------------------------------------------ speed


def test_the_speed_test_tells_rates_and_keeps_what_it_measured(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "WRITING", 0.3)
    monkeypatch.setattr(speed, "READING", 0.01)
    services = opened()
    services.models.changes().use(str(write(tmp_path / "mine.gguf")))
    settle()
    *steps, found = services.models.changes().speed_test(threading.Event())
    assert isinstance(found, Speed)
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert {step.phase for step in steps} >= {"reading a prompt", "writing an answer"}
    assert found.model == "mine"
    assert 0 < found.answer_rate <= 510  # a token takes 2 ms at least
    assert found.prompt_tokens > 10
    assert "100 tokens" in found.words
    expected = services.models.files.expected_speed(found.size)
    assert expected == pytest.approx(found.answer_rate)
    assert services.models.files.expected_speed(2 * found.size) == pytest.approx(found.answer_rate / 2)
    prompts = [messages[0].content[:14] for messages in services.models.language.llm().engine.history]
    assert len(set(prompts)) == len(prompts)  # none begins like another, or the cache would be measured


def test_what_the_numbers_mean():
    assert Speed("m", 100, 100.0, 50, 10.0, 10**8).words.endswith("takes 5.0 s, an answer of 100 tokens 10.0 s.")
