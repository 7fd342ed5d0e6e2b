"""kill -9 and SIGTERM in the middle of work, again and again: what was acknowledged and is lost, what is half there.

A child process works on one workspace and says what is done; after a random time it is ended: with kill -9, or with
SIGTERM, at which it closes as `pdfqa serve` does. Then the database is checked (integrity, foreign keys), all that was
acknowledged is looked for, and the next round goes on in the same workspace. At the end the work is done once more
without an end. Needs reportlab (requirements-dev.txt).

Acknowledged are: PDFs read (ingest), indexes built (index), ratings of two criteria (rate), answers (chat), answers of
an evaluation run, which then has to come to its end (evaluate), steps of training and models (train).

    python benchmarks/kills.py [--rounds 6] [--kinds ingest index rate chat evaluate train] [--quick]
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from common import options

from pdfqa_core.errors import PdfQAError
from pdfqa_core.evaluation_types import RunState
from pdfqa_core.models import TrainedModel
from pdfqa_core.services import LOCAL_OWNER, SAMPLE, RunRequest, Services
from pdfqa_core.services.synthesis import SynthesisPlan
from pdfqa_core.services.training import TrainingPlan
from pdfqa_core.settings import Settings
from pdfqa_core.study_types import Rating
from pdfqa_core.synthesis import RULES
from pdfqa_core.training import LATE_INTERACTION, Step, TrainingSettings
from pdfqa_core.types import Document, Stored

SETTINGS = (
    Settings().changed("retrieval", retriever="bm25").changed("reading", reader="extractive", refusal="none")
)  # fmt: skip
PDF = SAMPLE / "harbour-heat.pdf"
QUESTION = "How often are the meters read?"
LONGEST = 3.0  # seconds after the first acknowledgement until the end
LONGEST_TRAINING = 12.0
OPENED = 8  # indexes of a round that are opened and counted, drawn by chance
SIGNALS = {"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM}
TRAINING = TrainingPlan(
    LATE_INTERACTION, "kills", unreviewed=True,
    settings=TrainingSettings(steps=20, batch=4, evaluate_every=4, patience=0),
)  # fmt: skip


# ------------------------------------------------------------ the work


def acknowledge(what: str) -> None:
    """Say that something is done, past all buffers."""
    os.write(1, f"{what}\n".encode())


def made_pdf(folder: Path, number: int) -> Path:
    """Write a PDF of eight pages that no other round writes."""
    from reportlab.pdfgen.canvas import Canvas

    path = folder / f"made-{number}-{os.getpid()}.pdf"
    canvas = Canvas(str(path))
    for page in range(8):
        for line in range(40):
            canvas.drawString(
                60, 780 - 18 * line, f"Line {line} of page {page}: meter {number * 1000 + line} was read."
            )
        canvas.showPage()
    canvas.save()
    return path


def ingest(services: Services, first: int) -> Iterator[str]:
    """Read PDFs in."""
    with tempfile.TemporaryDirectory() as folder:
        for number in itertools.count(first):
            for event in services.documents.ingest(LOCAL_OWNER, [made_pdf(Path(folder), number)]):
                if isinstance(event, Document):
                    yield event.id


def index(services: Services, first: int) -> Iterator[str]:
    """Index all documents in ever other passages."""
    for number in itertools.count(first):
        for _ in services.index.build(LOCAL_OWNER, sized(number)):
            pass
        yield str(number)


def sized(number: int) -> Settings:
    """Return settings with passages of their own."""
    return SETTINGS.changed("chunking", size=20 + number % 400, step=20)


def rate(services: Services, first: int) -> Iterator[str]:
    """Rate an answer again and again, in two ratings that belong together."""
    study = services.studies.list(LOCAL_OWNER)[0]
    store = services._store.studies
    for number in itertools.count(first):
        now = datetime.now(UTC)
        store.save_ratings([
            Rating(study.id, study.turn_ids[0], "Ada", name, str(number % 2), f"round {number}", 1.0, now)
            for name in ("answer", "intent")
        ])  # fmt: skip
        yield str(number)


def chat(services: Services, first: int) -> Iterator[str]:
    """Ask in one conversation."""
    conversation = services.answers.conversations.list(LOCAL_OWNER)[0].id
    for number in itertools.count(first):
        for event in services.answers.ask(
            LOCAL_OWNER, f"{QUESTION} ({number})", SETTINGS, conversation_id=conversation
        ):
            if isinstance(event, Stored):
                yield event.turn.id


def evaluate(services: Services, _first: int) -> Iterator[str]:
    """Ask the questions of evaluation runs; each stored answer is said."""
    asked = RunRequest("answers", SAMPLE / "questions.jsonl", {"quoted": SETTINGS}, options={"bertscore": "no"})
    while True:
        run, known = services.evaluation.begin(LOCAL_OWNER, asked, anew=True).id, set[tuple[str, str]]()
        for _ in services.evaluation.go(LOCAL_OWNER, run):
            stored = set(services.evaluation.runs.predictions(LOCAL_OWNER, run))
            yield from (f"{run} {item}" for _, item in stored - known)
            known = stored


def train(services: Services, _first: int) -> Iterator[str]:
    """Train a model; each step is said, and the model at the end."""
    while True:
        for event in services.training.train(LOCAL_OWNER, TRAINING, SETTINGS):
            if isinstance(event, Step):
                yield "step"
            elif isinstance(event, TrainedModel):
                yield f"model {event.name}"
                services.models.files.encoders.remove(event.name)


KINDS: dict[str, Callable[[Services, int], Iterator[str]]] = {
    "ingest": ingest, "index": index, "rate": rate, "chat": chat, "evaluate": evaluate, "train": train,
}  # fmt: skip


def prepare(workspace: Path) -> None:
    """Make a workspace with the sample, an answer, a study of it, and questions to train on."""
    with Services.open(workspace, SETTINGS) as services:
        list(services.documents.ingest(LOCAL_OWNER, [PDF]))
        (stored,) = [one for one in services.answers.ask(LOCAL_OWNER, QUESTION, SETTINGS) if isinstance(one, Stored)]
        study = services.studies.create_of(LOCAL_OWNER, stored.conversation_id, stored.turn.id)
        services.studies.sign_in(LOCAL_OWNER, study.id, "Ada")
        list(
            services.training.synthesis.make(
                LOCAL_OWNER, SynthesisPlan(kind=RULES, per_document=0, per_passage=2), SETTINGS
            )
        )


# ------------------------------------------------------------ the rounds


def work(kind: str, workspace: Path, first: int) -> None:
    """Work until this process is ended; at SIGTERM close in order, as the server does."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    with Services.open(workspace, SETTINGS) as services:

        def acknowledge_all() -> None:
            try:
                for said in KINDS[kind](services, first):
                    acknowledge(said)
            except Exception:  # noqa: BLE001 - any fault ends the round and is printed
                if not told.is_set():  # what a closing program meets is no fault
                    traceback.print_exc()
                    os._exit(1)

        threading.Thread(target=acknowledge_all, daemon=True).start()
        while not told.wait(0.1):  # a signal that another thread gets is seen between two waits
            pass
        services.close()
        os._exit(0)


def ended(kind: str, workspace: Path, first: int, number: int, delay: float) -> tuple[list[str], float]:
    """Begin the work, end it so many seconds after its first word; return what it said, and how long the end took."""
    child = subprocess.Popen(
        [sys.executable, __file__, "--work", kind, "--workspace", str(workspace), "--first", str(first)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    errors: list[bytes] = []
    threading.Thread(target=lambda: errors.append(child.stderr.read()), daemon=True).start()
    begun, rest = child.stdout.readline(), list[bytes]()
    reader = threading.Thread(target=lambda: rest.append(child.stdout.read()))
    reader.start()
    time.sleep(delay)
    if child.poll() is None:
        child.send_signal(number)
    told = time.monotonic()
    child.wait()
    seconds = time.monotonic() - told
    reader.join()
    if child.returncode not in (-number, 0) or not begun:
        sys.exit(f"{kind} ended by itself ({child.returncode}): {b''.join(errors).decode()[-2000:]}")
    words = (begun + rest[0]).decode().split("\n")
    return [word for word in words[:-1] if word], seconds  # a last line without an end was not said


def damage(workspace: Path) -> list[str]:
    """Return what the database says about itself."""
    with closing(sqlite3.connect(workspace / "pdfqa.sqlite")) as database:
        said = [str(row[0]) for row in database.execute("PRAGMA integrity_check")]
        broken = database.execute("PRAGMA foreign_key_check").fetchall()
    return [one for one in said if one != "ok"] + [f"foreign key: {row}" for row in broken]


def lost(kind: str, services: Services, acknowledged: list[str]) -> list[str]:
    """Return what was acknowledged and is not there whole."""
    match kind:
        case "ingest":
            return [one for one in acknowledged if not whole(services, one)]
        case "index":
            found = []
            different = list(dict.fromkeys(acknowledged))
            for number in random.sample(different, min(len(different), OPENED)):
                settings = sized(int(number))
                for _ in services.index.build(LOCAL_OWNER, settings):
                    pass
                stats = services.index.stats(LOCAL_OWNER, settings)
                right = len(services.index.passages(LOCAL_OWNER, settings))
                if stats is None or stats.passages != right:
                    found.append(number)
            return found
        case "rate":
            database = services.workspace / "pdfqa.sqlite"
            with closing(sqlite3.connect(database)) as connection:
                kept = Counter(row[0] for row in connection.execute("SELECT comment FROM ratings"))
            half = [comment for comment, count in kept.items() if count != 2]
            return [one for one in acknowledged if f"round {one}" not in kept] + half
        case "chat":
            conversation = services.answers.conversations.list(LOCAL_OWNER)[0].id
            turns = {turn.id: turn for turn in services.answers.conversations.get(LOCAL_OWNER, conversation).turns}
            return [one for one in acknowledged if one not in turns or not turns[one].answer.text]
        case "evaluate":
            runs = {one.partition(" ")[0] for one in acknowledged}
            stored = {
                f"{run} {item}" for run in runs for _, item in services.evaluation.runs.predictions(LOCAL_OWNER, run)
            }
            return [one for one in acknowledged if one not in stored]
    return []  # a step of training is taken again; that it comes to an end is what `goes_on` looks at


def whole(services: Services, document_id: str) -> bool:
    """Whether a document is there with its PDF and all its pages."""
    try:
        document = services.documents.kept.get(LOCAL_OWNER, document_id)
        pages = services.documents.text(LOCAL_OWNER, document_id, SETTINGS)
        return (
            services.documents.original(LOCAL_OWNER, document_id).path.is_file() and len(pages) == document.page_count
        )
    except PdfQAError:
        return False


def goes_on(kind: str, workspace: Path, first: int) -> bool:
    """Whether the work is done once more, from its beginning to an end, in the workspace that was left."""
    with Services.open(workspace, SETTINGS) as services:
        for left in services.evaluation.list_runs(LOCAL_OWNER):
            for _ in services.evaluation.go(LOCAL_OWNER, left.id):
                pass
            if services.evaluation.runs.get(LOCAL_OWNER, left.id).state is not RunState.DONE:
                return False
        doing = KINDS[kind](services, first)
        for said in doing:
            if kind != "train" or said.startswith("model"):
                doing.close()
                return True
    return False


def rounds(kind: str, name: str, times: int) -> tuple[int, int, int, float, bool]:
    """Return how much was acknowledged, lost and found damaged, the slowest end, and whether it goes on afterwards."""
    random.seed(f"{kind} {name}")
    acknowledged, gone, damaged, slowest = 0, 0, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PDFQA_MODELS"] = str(Path(folder) / "models")
        workspace = Path(folder) / "workspace"
        prepare(workspace)
        for number in range(times):
            longest = LONGEST_TRAINING if kind == "train" else LONGEST
            delay = random.uniform(0, longest)
            said, seconds = ended(kind, workspace, 10_000 * (number + 1), SIGNALS[name], delay)
            slowest = max(slowest, seconds)
            damaged += len(damage(workspace))
            with Services.open(workspace, SETTINGS) as services:
                gone += len(lost(kind, services, said))
            acknowledged += len(said)
        return acknowledged, gone, damaged, slowest, goes_on(kind, workspace, 10**7)


def main() -> None:
    parser = options(__doc__, quick="two rounds of rate and chat with kill -9")
    parser.add_argument("--rounds", type=int, default=6, help="of each kind and signal")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--work", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--workspace", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work(chosen.work, chosen.workspace, chosen.first)
        return
    signals = list(SIGNALS)
    if chosen.quick:
        chosen.rounds, chosen.kinds, signals = 2, ["rate", "chat"], signals[:1]
    print("| work | ended by | rounds | acknowledged | lost | damaged | slowest end, s | went on to the end |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    total, whole_ = 0, 0
    for kind in chosen.kinds:
        for name in signals:
            done, gone, damaged, slowest, on = rounds(kind, name, chosen.rounds)
            total, whole_ = total + done, whole_ + done - gone
            found = (kind, name, chosen.rounds, done, gone, damaged, f"{slowest:.1f}", "yes" if on else "NO")
            print(f"| {' | '.join(map(str, found))} |", flush=True)
    print(f"Of {total} acknowledged pieces of work {whole_} are there: {whole_ / max(1, total):.4f} x as many")


if __name__ == "__main__":
    main()
