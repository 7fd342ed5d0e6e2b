"""After a removal no word of what was removed stands in any file of the workspace, whatever form it was kept in."""

from __future__ import annotations

import json
import sqlite3
import zipfile
import zlib
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

import pytest

from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.storage import DATABASE_FILE
from pdfqa_core.storage.page_texts import FILENAME
from pdfqa_core.storage.runs import FILENAME as REPLIES
from pdfqa_core.storage.tables import UtcDateTime, metadata
from pdfqa_core.synthesis import RULES
from tests.conftest import FakeLLM
from tests.services.helpers import BM25, HYBRID, LITERAL, asked, built, documents, stored_of, until
from tests.storage.conftest import rating

SECRET, ASKED, SAID = "Zephyrquartz", "Oblivionade", "Quillfathom"  # of the document, of people, of the model
QUESTION = f"How heavy is the {SECRET} of {ASKED}?"
VISITOR = "visitor-" + "o" * 43


def forms(content):
    """Yield a file's bytes, and what is packed in them."""
    yield content
    place = content.find(b"x\x9c")
    while place >= 0:
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(content[place:], 1 << 20)
        place = content.find(b"x\x9c", place + 1)


def traces(folder, words=(SECRET, ASKED, SAID)):
    """Return the files in whose bytes or names one of the words stands, in any case and usual encoding."""
    needles = [word.lower().encode(code) for word in words for code in ("utf-8", "utf-16-le", "utf-16-be")]
    found = set()
    for path in folder.rglob("*"):
        contents = [path.name.encode()]
        if path.is_file():
            contents.append(path.read_bytes())
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    contents += [archive.read(name) for name in archive.namelist()]
        if any(needle in form.lower() for content in contents for form in forms(content) for needle in needles):
            found.add(path.relative_to(folder).as_posix())
    return found


@pytest.fixture
def secret(make_pdf):
    lines = [f"The {SECRET} of the harbour weighs 84 tonnes and was found in 1912 by Ida Low.", "It lies in the quay."]
    return make_pdf(lines * 3, lines, name=f"{SECRET.lower()}.pdf", title=f"On the {SECRET}")


def fill(services, owner, secret):
    """Have an owner do everything with a document that keeps some of its words; return its id."""
    (theirs,) = documents(services.documents.ingest(owner, [secret]))
    services.index.finding.find(owner, SECRET)
    for settings in (BM25, HYBRID):
        built(services, settings, owner)
    services.answers.overviews.of(owner, theirs.id, LITERAL)
    services.answers.suggestions.first(owner, theirs.id, LITERAL)
    list(services.answers.overviews.summarise(owner, theirs.id, LITERAL).events())
    services.documents.collections.make(owner, f"All of the {SECRET}", [theirs.id])
    plan = SynthesisPlan(RULES, per_document=0, per_passage=2, document_ids=(theirs.id,))
    list(services.training.synthesis.make(owner, plan, LITERAL))
    return theirs.id


def talk(services, owner, tmp_path):
    """Have an owner ask, rate, evaluate and run, in their own words."""
    stored = stored_of(asked(services, QUESTION, LITERAL, owner))
    study = services.studies.create(owner, f"Study of {ASKED}", [stored.conversation_id])
    services.people.invitations.invite(owner, study.id, f"Ada {ASKED}")
    services._store.studies.sign_in(study.id, "Anna")
    services._store.studies.save_ratings([rating(study.id, stored.turn.id)])
    services.people.owners.set_preference(owner, "evaluate.questions", QUESTION)
    rows = [{"id": "a", "question": QUESTION, "answer": SAID, "document": f"{SECRET.lower()}.pdf", "page": 1}]
    data = tmp_path / "questions.json"
    data.write_text(json.dumps(rows), encoding="utf-8")
    list(services.evaluation.evaluate_retrieval(owner, read_gold(data), {"a": LITERAL}))
    run = services.evaluation.begin(owner, RunRequest("answers", data, {"b": BM25}, options={"bertscore": "no"}))
    list(services.evaluation.go(owner, run.id))
    return run


def saying(*replies):
    llm = FakeLLM()
    llm.enqueue([f"The {SAID} says 84 tonnes [1]."] * 9)
    return llm


def test_no_word_of_a_removed_document_is_left(open_services, secret):
    services = open_services(BM25)
    theirs = fill(services, LOCAL_OWNER, secret)
    there = traces(services.workspace, [SECRET])
    assert {DATABASE_FILE, FILENAME, "manifest.json"} <= {name.removesuffix("-wal").split("/")[-1] for name in there}
    assert any(name.endswith(".passages.npz") for name in there)
    services.documents.remove(LOCAL_OWNER, theirs)
    services.documents.collections.kept.remove(LOCAL_OWNER, services.documents.collections.kept.list(LOCAL_OWNER)[0].id)
    assert traces(services.workspace, [SECRET]) == set()
    assert not list(services.workspace.rglob(f"*{theirs}*"))


def test_no_word_of_a_visitor_who_went_is_left(open_services, secret, tmp_path):
    services = open_services(BM25.changed("server", demo=True, visitor_hours=1), saying())
    fill(services, VISITOR, secret)
    talk(services, VISITOR, tmp_path)
    there = traces(services.workspace)
    assert {DATABASE_FILE, FILENAME, REPLIES} <= {name.removesuffix("-wal") for name in there}
    assert any(name.startswith("run_data/") for name in there)
    with services._store.database.write() as connection:
        for table in metadata.sorted_tables:
            for column in [one for one in table.c if isinstance(one.type, UtcDateTime)]:
                old = datetime.now(UTC) - timedelta(days=7)
                connection.execute(table.update().where(column.is_not(None)).values({column.name: old}))
    assert services.purge() == (VISITOR,)
    assert traces(services.workspace) == set()
    assert list((services.workspace / "visitors").iterdir()) == []


def test_a_removed_run_takes_its_replies_and_data_along_but_not_those_of_another(open_services, secret, tmp_path):
    services = open_services(BM25, saying())
    fill(services, LOCAL_OWNER, secret)
    first = talk(services, LOCAL_OWNER, tmp_path)
    wanted = RunRequest("answers", tmp_path / "questions.json", {"b": BM25}, options={"bertscore": "no"})
    second = services.evaluation.begin(LOCAL_OWNER, wanted, anew=True)
    list(services.evaluation.go(LOCAL_OWNER, second.id))
    services.evaluation.remove_run(LOCAL_OWNER, first.id)
    assert {one for one in traces(services.workspace, [SAID]) if one.startswith((REPLIES, "run_data"))} != set()
    assert len(services.evaluation.cases(LOCAL_OWNER, second.plan).cases) == 1
    services.evaluation.remove_run(LOCAL_OWNER, second.id)
    assert {one for one in traces(services.workspace) if one.startswith((REPLIES, "run_data"))} == set()


@pytest.mark.parametrize("name", [DATABASE_FILE, FILENAME])
def test_a_log_that_somebody_reads_is_emptied_later(open_services, secret, name):
    services = open_services(BM25)
    (theirs,) = documents(services.documents.ingest(LOCAL_OWNER, [secret]))
    services.index.finding.find(LOCAL_OWNER, SECRET)
    with closing(sqlite3.connect(services.workspace / name, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM readings").fetchone()
        services.documents.remove(LOCAL_OWNER, theirs.id)
        assert traces(services.workspace, [SECRET]) != set()
        reader.execute("ROLLBACK")
    services.tasks.housekeeping.start()
    until(lambda: not traces(services.workspace, [SECRET]))


def test_what_a_kill_left_of_a_removed_document_goes_with_the_clock(open_services, secret, letter):
    services = open_services(BM25)
    documents(services.documents.ingest(LOCAL_OWNER, [letter]))
    theirs = fill(services, LOCAL_OWNER, secret)
    built(services)
    services._store.documents.remove(LOCAL_OWNER, theirs)  # and there the program was killed
    services._store.collections.remove(LOCAL_OWNER, services.documents.collections.kept.list(LOCAL_OWNER)[0].id)
    assert any(name.endswith(".passages.npz") for name in traces(services.workspace, [SECRET]))
    services.index.files.tidy()
    services.index.finding.tidy()
    assert traces(services.workspace, [SECRET]) == set()
    assert any(name.endswith(".passages.npz") for name in traces(services.workspace, ["granite"]))
