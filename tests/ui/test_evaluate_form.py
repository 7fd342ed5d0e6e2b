"""What the choices of the Evaluate tab ask for: systems, options, files; fields of other protocols are left out."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import RunState
from pdfqa_core.models import ModelFiles
from pdfqa_core.models.trained import keep_trained
from pdfqa_core.protocols import run_protocols
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, Outcome, Services
from pdfqa_core.services.accounts import AccountRole
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.synthesis import CONVERSATIONS, RULES
from pdfqa_core.training import TrainedOn, words_hash
from pdfqa_core.types import Progress
from pdfqa_core.ui import evaluate, roles
from pdfqa_core.ui.evaluate_runs import Tab, download
from pdfqa_core.ui.evaluate_runs_form import (
    AS_READ,
    COLUMNS,
    EVIDENCE,
    FORM,
    OF_PROTOCOL,
    READ,
    Form,
    described,
    of_protocol,
    planned,
    read,
    suited,
)
from pdfqa_core.ui.evaluate_runs_view import RunsState, paused_words, state_words, steps_of
from pdfqa_core.ui.evaluate_setup import (
    ACCEPTED_QUESTIONS,
    NONE_ACCEPTED,
    OWN_FILE,
    SAMPLE_QUESTIONS,
    Setup,
    brought,
)
from pdfqa_core.ui.session import EvaluateState, Session
from tests.protocols.test_beir import folder_of, zip_of
from tests.services.helpers import BM25, until
from tests.services.test_runs import WordLengths
from tests.serving_fakes import PDF, FakeModels
from tests.training.test_record import record
from tests.ui.test_states import pdf

SESSION = Session(LOCAL_OWNER, BM25)
ROWS = [{"question": "When?", "truth": "At noon.", "answer": "At one."}]


def values(**chosen):
    plain = {
        "protocol": "answers", "source": SAMPLE_QUESTIONS, "upload": None, "scope": [], "unanswerable": None,
        "evidence": ["the system searches"], "retrievers": ["bm25"], "chunkers": ["windows"], "readers": ["extractive"],
        "limit": 0, "seed": 0, "models": [], "extractors": [AS_READ], "rewriters": ["none"],
        "histories": ["gold answers"], "repeats": 1, "temperature": 0, "trained_on": False,
        "as_in_sources": False, "bertscore": False,
        "encoder": "", "beta": 1,
        "judge": False, "calibrate": False, "nli": "", "disambig": "entities of both texts", "ner": "", "qa_model": "",
    }  # fmt: skip
    assert tuple(plain) == FORM
    return (*(plain | chosen).values(), *("(none)" for _ in COLUMNS))


def form(**chosen):
    return Form.of(*values(**chosen))


@pytest.fixture
def services(tmp_path):
    with Services.open(tmp_path / "workspace", BM25, FakeModels()) as opened:
        yield opened


@pytest.fixture
def write(tmp_path):
    def made(rows, name="rows.json"):
        path = tmp_path / name
        path.write_text(json.dumps(rows))
        return str(path)

    return made


def test_a_grid_has_extractors_and_models_too():
    systems = form(
        extractors=[AS_READ, "pdfplumber"], models=["smollm2-135m", "/models/mine.gguf"], rewriters=["none", "llm"]
    ).request(SESSION)
    assert len(systems.systems) == 8
    assert "read by pdfplumber · rewriter llm · mine" in systems.systems
    made = systems.systems["as read · rewriter none · smollm2-135m"]
    assert (made.chunking.read_by, made.llm.model) == ("", "smollm2-135m")


def test_what_is_asked_about_in_chat_does_not_narrow_what_is_measured(services, write, tmp_path):
    (tmp_path / "tides.pdf").write_bytes(pdf(title="Tide tables", pages=1))
    list(services.documents.ingest(LOCAL_OWNER, [PDF, tmp_path / "tides.pdf"]))
    ids = {one.filename: one.id for one in services.documents.kept.list(LOCAL_OWNER)}
    named = [{"question": f"What says {name}?", "document": name, "page": 1} for name in ids]
    file, chat = write(named), Session(LOCAL_OWNER, BM25, scope=(ids["tides.pdf"],))
    setup, half = Setup(services), [services.documents.collections.make(LOCAL_OWNER, "Lights", [ids[PDF.name]]).id]
    assert "2 questions, 2 with gold places." in (whole := setup.questions(OWN_FILE, [file], [], chat))
    assert "searched" not in whole
    narrowed = setup.questions(OWN_FILE, [file], half, chat)
    assert "1 of 2 questions has no gold place in the documents searched" in narrowed
    assert "tides.pdf is not in the documents searched" in narrowed
    for scope, searched in ((None, ""), (half, ids[PDF.name])):
        request = form(source=OWN_FILE, upload=file, scope=scope).request(chat)
        assert services.evaluation.begin(LOCAL_OWNER, request).plan.options.get("documents", "") == searched


@pytest.mark.parametrize(
    ("protocol", "chosen", "options"),
    [
        ("entailment", {"nli": " cross/nli ", "ner": "x", "judge": True, "calibrate": True}, {"nli": "cross/nli"}),
        ("asqa", {"nli": "x", "ner": "some/ner", "qa_model": "y"}, {"disambig": "entities", "ner": "some/ner"}),
        ("asqa", {"disambig": READ, "ner": "x", "qa_model": "some/qa"}, {"disambig": "qa", "qa_model": "some/qa"}),
        ("answers", {"judge": True, "bertscore": True, "nli": "x"}, {"judge": "yes", "bertscore": "yes"}),
        (
            "conversations",
            {"encoder": " own/bert ", "beta": 2},
            {"bertscore": "yes", "bertscore_encoder": "own/bert", "beta": "2"},
        ),
        ("judge", {"encoder": "own/bert", "beta": 2}, {}),
        ("judge", {"judge": True, "calibrate": True}, {"judge_prompt": "strict", "calibrate": "yes"}),
        ("answers", {"calibrate": True}, {}),
        ("refusal", {"trained_on": True}, {"trained_on": "yes"}),
    ],
)
def test_options_are_those_of_the_protocol(protocol, chosen, options):
    assert form(protocol=protocol, **chosen).request(SESSION).options == options


def test_fields_are_in_view_where_they_mean_something():
    names = [field.name for field in fields(Form)]
    assert set(OF_PROTOCOL) < set(names)
    for protocol in run_protocols.names():
        about, *seen = of_protocol(protocol, READ)
        assert about.info == run_protocols.words(protocol)
        shown = {name for name, update in zip(OF_PROTOCOL, seen, strict=True) if update["visible"]}
        assert shown == {name for name, known in OF_PROTOCOL.items() if protocol in known} - {"ner"}


def test_questions_without_an_answer_are_counted_only_where_they_are_asked(write):
    others = [write([{"question": "Who?"}, {"question": "Why?"}])]
    refusal = form(protocol="refusal", unanswerable=others)
    assert [case.answerable for case in read(refusal).cases].count(False) == 5 + 2
    assert refusal.request(SESSION).unanswerable.name == "rows.json"
    assert form(unanswerable=others).request(SESSION).unanswerable is None


def test_evidence_is_what_suits_protocol_and_file(services, write):
    own = {"source": OWN_FILE, "upload": [write(ROWS)]}
    assert suited(services, form(protocol="judge", **own), SESSION).value == ["answers of the file"]
    assert suited(services, form(protocol="answers", **own), SESSION).value == ["the system searches"]
    found = suited(services, form(protocol="asqa"), SESSION)
    assert found.value == ["closed book"]
    assert [EVIDENCE[words] for _, words in found.choices] == ["search", "none"]
    text = planned(services, form(protocol="judge", evidence=["answers of the file"], **own), SESSION)
    assert "recorded answers" in text
    assert "1 answer<" in text


def run_to_its_end(services, tab, **chosen):
    """Start a run as the page does; return its table, and the run."""
    message, *_, state = tab.start(RunsState(), SESSION, *values(**chosen))
    assert state.run, message
    until(lambda: not services.evaluation.under_way(LOCAL_OWNER)[0])
    return tab.shown(state, SESSION)[1], state, services.evaluation.runs.get(LOCAL_OWNER, state.run)


def test_accepted_questions_and_conversations_are_run_and_bertscore_by_turn_comes_first(services):
    services.evaluation.embedder = WordLengths
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    tab, chosen = Tab(services), {"source": ACCEPTED_QUESTIONS, "retrievers": ["bm25"]}
    for shown in (tab.described(SESSION, *values(**chosen))[0], tab.start(RunsState(), SESSION, *values(**chosen))[0]):
        assert NONE_ACCEPTED in shown
    synthesis = services.training.synthesis
    list(synthesis.make(LOCAL_OWNER, SynthesisPlan(RULES, per_document=0), BM25))
    one, *_ = (one for one in synthesis.kept.list(LOCAL_OWNER, [Outcome.NEW]) if one.answer)
    turns = [replace(one, id=f"t{n}", kind=CONVERSATIONS, conversation="c", turn=n) for n in (1, 2, 3)]
    synthesis.kept.add(LOCAL_OWNER, turns)
    for accepted in (one.id, "t1"):
        synthesis.kept.decide(LOCAL_OWNER, accepted, Outcome.ACCEPTED)
    known, systems = tab.described(SESSION, *values(**chosen))
    assert "4 questions, 4 with a gold answer, 2 in a conversation, 4 with a gold place" in " ".join(
        re.sub("<.*?>", "", known).split()
    )
    assert "4 answers" in systems
    for protocol, first in (("conversations", True), ("answers", False)):
        table, state, run = run_to_its_end(services, tab, protocol=protocol, bertscore=True, **chosen)
        assert (run.state, run.total, run.plan.dataset) == (RunState.DONE, 4, "accepted.jsonl")
        by_turn = "BERTScore F1 by turn" if first else "Answer F1 by turn"
        report = Path(download(services, "html", LOCAL_OWNER, state)).read_text("utf-8")
        assert (table.index(by_turn) < table.index("<th>System</th>")) is first
        assert (report.find(f"{by_turn}</h2>") in range(report.index("<h2>Results"))) is first


def test_what_a_model_was_trained_on_measures_it_where_that_is_ticked(tmp_path):
    files = ModelFiles(tmp_path, tmp_path / "models")
    asked = json.loads((SAMPLE / "questions.jsonl").read_text("utf-8").splitlines()[0])["question"]
    trained = TrainedOn("mine", (), (words_hash(asked),))
    keep_trained(files.encoders.folder, replace(record(), trained_on=trained), lambda folder: None)
    with Services.open(tmp_path / "workspace", BM25, FakeModels(files=files)) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        chosen = (SAMPLE_QUESTIONS, None, [], ["windows"], ["dense + mine"], "overlap", False, "", SESSION)
        for ticked, words in ((False, "would measure what it remembers"), (True, "its scores are too good")):
            request = SimpleNamespace(session_hash="page")
            *_, last = evaluate.Tab(services).evaluate(*chosen, EvaluateState(), ticked, request)
            assert words in (last[4] if ticked else last[0])
            assert bool(last[0]) is not ticked


def test_files_of_a_beir_data_set_become_one(tmp_path):
    folder = folder_of(tmp_path / "tiny")
    apart = [str(folder / "corpus.jsonl"), str(folder / "queries.jsonl"), str(folder / "qrels" / "test.tsv")]
    chosen = form(source=OWN_FILE, upload=apart, limit=5)
    assert (chosen.path.name, len(read(chosen).cases)) == ("beir.zip", 1)
    with pytest.raises(UsageError, match=r"missing: qrels/test.tsv. Here are: corpus.jsonl, queries.jsonl"):
        brought(apart[:2])


def test_only_text_is_remembered_for_the_next_visit(services, tmp_path, write):
    setup = Setup(services)
    setup.uploaded(OWN_FILE, [write(ROWS)], (), SESSION)
    assert setup.remembered_file(LOCAL_OWNER).endswith("rows.json")
    assert "1 question" in setup.uploaded(OWN_FILE, [str(zip_of(tmp_path / "tiny.zip"))], (), SESSION)
    assert setup.remembered_file(LOCAL_OWNER) is None


def test_only_an_owner_has_the_server_load_another_model(monkeypatch):
    for role in set(AccountRole) - {AccountRole.OWNER}:
        monkeypatch.setattr(roles, "current", lambda role=role: SimpleNamespace(role=role))
        with pytest.raises(UsageError, match="belong to its owner"):
            roles.may_choose_models()
    monkeypatch.setattr(roles, "current", lambda: SimpleNamespace(role=AccountRole.OWNER))
    roles.may_choose_models()


def test_a_wrong_file_says_which_row_and_which_command(write):
    wrong = write([{"answer": "x", "citations": []}], "predictions.json")
    said = described(form(source=OWN_FILE, upload=[wrong]), sample=True)
    assert "row 1: there is no question" in said
    assert "pdfqa evaluate answers" in said


def test_a_run_says_how_far_it_is_in_all(services):
    list(services.documents.ingest(LOCAL_OWNER, [PDF]))
    run = services.evaluation.begin(LOCAL_OWNER, form(chunkers=["windows", "paragraphs"]).request(SESSION))
    (listed,) = services.evaluation.list_runs(LOCAL_OWNER)
    assert (run.total, state_words(listed)) == (30, "paused, 0 of 30")
    assert paused_words(listed) == "Paused after 0 of 30 answers. They are kept; “go on” asks the rest."
    whole, now = steps_of(Progress("question 3", 2, 15, 60.0), listed)
    assert (whole, whole.seconds_left, now.seconds_left) == (Progress("all answers", 0, 30), 60.0, None)
