"""Many visitors of a demo at once: errors, somebody else's words in an answer or a list, seconds, and memory.

Usage: python benchmarks/visitors.py [--visitors 100] [--minutes 5] [--stay 60] [--retriever hybrid] [--quick]
So many visitors are there at a time. Each has an address of their own, loads the page, adds a PDF that holds a word
nobody else's has, and then asks about it and looks through the lists until they leave; the next one comes. Answers are
quoted from the passages (no language model takes part). In all that a visitor gets, other visitors' words are looked
for. When all have left, the demo's clock removes them and forgets their pages, both after --keep seconds instead of
hours, and the memory of the server is compared with that after its first visitor.
Needs reportlab (requirements-dev.txt).
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import re
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.ui.calling import Handler, handlers, value_for  # noqa: E402
from tests.ui.serving import clean_environment  # noqa: E402

MARK = re.compile(r"zq[0-9a-f]{12}")
CRANES = "How many cranes does the harbour have?"
QUESTIONS = (CRANES, "Who is the harbour master?", "When does the ferry leave?")
LINES = 40  # of a page
PAGES = 4
THINKING = (1.0, 6.0)  # seconds between two questions of a visitor
TIMEOUT = 120.0  # seconds after which a visitor gives up, which counts as an error
REMOVED = 600.0  # seconds that the clock may take to remove who has left
CLOCK = 60.0  # seconds between two rounds of the clock, which has 5 minutes otherwise
SERVE = """
import sys
from pathlib import Path
from pdfqa_core.cli import logs
from pdfqa_core.cli.serve import serve
from pdfqa_core.services.housekeeping import share_pools

logs.begin()  # as `pdfqa serve` does, and
share_pools()  # before the page is imported
from pdfqa_core.services.housekeeping import Housekeeping
from pdfqa_core.settings import Settings
from pdfqa_core.storage.owners import Owners
from pdfqa_core.ui import page_states

purge, kept = Owners.purge, float(sys.argv[3])
Owners.purge = lambda self, hours, keep: purge(self, kept / 3600, keep)
page_states.CLOSED = kept
Housekeeping.__init__.__kwdefaults__["every"] = float(sys.argv[4])
settings = Settings().changed("server", demo=True, port=0, proxied=True).changed("retrieval", retriever=sys.argv[2])
serve(Path(sys.argv[1]), settings.changed("reading", reader="extractive", refusal="none"))
"""  # visitors of a demo, and pages that were left, stay for an hour at least; here they go sooner


def made_pdf(mark: str) -> bytes:
    """Return a PDF whose sentences name a word of its own."""
    from reportlab.pdfgen.canvas import Canvas

    told = [
        f"The harbour of {mark} has {len(mark)} cranes, all of them painted red.",
        f"The harbour master is called Ida {mark}, and she lives on the pier.",
        f"The ferry to {mark} leaves at seven in the morning, but never on Sundays.",
    ]
    words = ("quay", "tide", "rope", "gull", "net", "sail", "buoy", "deck", "crew", "lamp", "storm", "cargo")
    chance, buffer = random.Random(mark), io.BytesIO()
    canvas = Canvas(buffer)
    canvas.setTitle(f"Report {mark}")
    for page in range(PAGES):
        for line in range(LINES):
            text = told[page] if page < len(told) and line == page + 3 else f"{' '.join(chance.choices(words, k=9))}."
            canvas.drawString(60, 780 - 18 * line, text)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


@dataclass
class Seen:
    """What all visitors met: seconds by what they did, errors by their words, and words of others."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    mixed: list[str] = field(default_factory=list)
    visitors: int = 0


class WrongError(Exception):
    """What a visitor gets is not what they should get."""


class Visitor:
    """One visitor with one page open."""

    def __init__(self, url: str, known: dict[tuple[str, str], Handler], number: int, seen: Seen) -> None:
        self.mark, self.page, self.token = f"zq{secrets.token_hex(6)}", secrets.token_hex(8), secrets.token_urlsafe(32)
        address = f"203.0.{113 + number // 250 % 100}.{number % 250 + 1}"
        headers = {"X-Forwarded-For": address}
        self.http = httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT, trust_env=False)
        self.known, self.seen, self.ticket = known, seen, ""

    async def call(self, element: str, event: str, *given: Any, **click: Any) -> str:
        """Set a handler off as the page does, and return all that comes back."""
        one = self.known[element, event]
        values = [*given, *(value_for(block) for block in one.inputs[len(given) :])]
        body = {"data": values, "fn_index": one.number, "session_hash": self.page, "event_data": click or None}
        if not one.queued:
            return self.checked(await self.http.post("/gradio_api/run/predict", json=body))
        self.checked(await self.http.post("/gradio_api/queue/join", json=body))
        received = []
        stream = self.http.stream("GET", "/gradio_api/queue/data", params={"session_hash": self.page})
        async with stream as lines:
            async for line in lines.aiter_lines():
                received.append(line)
        return self.looked_through("".join(received))

    def checked(self, answer: httpx.Response) -> str:
        """Return the text of an answer. Raises WrongError for one that is none."""
        if answer.status_code != 200:
            raise WrongError(f"{answer.url.path}: {answer.status_code} {answer.text[:150]}")
        return self.looked_through(answer.text)

    def looked_through(self, text: str) -> str:
        """Return a text after words of others and errors were looked for."""
        others = set(MARK.findall(text)) - {self.mark}
        self.seen.mixed += [f"{self.mark} got {other}" for other in others]
        error = re.search(r'class=\\+"error\\+"[^>]*>(.{0,200})', text) or re.search(
            r'"success":\s*false.{0,200}', text
        )
        if error:
            raise WrongError(re.sub(r"<[^>]*>|zq[0-9a-f]+", "", error[0])[:150])
        return text

    @asynccontextmanager
    async def timed(self, what: str) -> AsyncIterator[None]:
        """Note how long something takes, if it comes to an end."""
        began = time.perf_counter()
        yield
        self.seen.seconds[what].append(time.perf_counter() - began)

    def expect(self, text: str, what: str) -> None:
        """Raise WrongError where this visitor's own word is missing."""
        if self.mark not in text:
            raise WrongError(f"{what} without the visitor's own word")

    async def stay(self, seconds: float) -> None:
        """Come, add a PDF, ask about it and look through the lists for so long, and leave."""
        self.seen.visitors += 1
        beating = asyncio.create_task(self._heartbeat())
        ends = time.monotonic() + seconds
        try:
            async with self.timed("load the page"):
                self.checked(await self.http.get("/"))
                arrived = json.loads(await self.call("", "load", self.token, {}, [], "", ""))
            self.ticket = arrived["data"][2]
            async with self.timed("add a PDF"):
                await self._add()
            while time.monotonic() < ends:
                async with self.timed("ask"):
                    self.expect(await self.call("chat-send", "click", random.choice(QUESTIONS)), "an answer")
                async with self.timed("look through the lists"):
                    self.expect(await self.call("pq-documents-fill", "click"), "the list of documents")
                    await self.call("pq-chat-fill", "click")
                await asyncio.sleep(random.uniform(*THINKING))
        except (WrongError, httpx.HTTPError) as error:
            self.seen.errors[str(error) or type(error).__name__] += 1
        finally:
            beating.cancel()
            await self.http.aclose()

    async def _heartbeat(self) -> None:
        """Hold the connection by which the server knows that the page is open."""
        timeout = httpx.Timeout(TIMEOUT, read=None)
        async with self.http.stream("GET", f"/gradio_api/heartbeat/{self.page}", timeout=timeout) as lines:
            async for _ in lines.aiter_lines():
                pass

    async def _add(self) -> None:
        name = f"{self.mark}.pdf"
        sent = {"files": (name, made_pdf(self.mark), "application/pdf")}
        answer = await self.http.post("/gradio_api/upload", files=sent, headers={"x-pdfqa-ticket": self.ticket})
        (path,) = json.loads(self.checked(answer))
        file = {"path": path, "orig_name": name, "meta": {"_type": "gradio.FileData"}}
        await self.call("documents-upload", "upload", [file])
        while "ready" not in (table := await self.call("pq-documents-fill", "click")):
            self.expect(table, "the list of documents")
            await asyncio.sleep(0.5)


async def visits(url: str, options: argparse.Namespace, seen: Seen) -> None:
    """Have so many visitors at a time, one after the other, until the minutes are over."""
    known = await described(url)
    ends = time.monotonic() + 60 * options.minutes

    async def place(first: int) -> None:
        await asyncio.sleep(random.uniform(0, min(options.stay, 60 * options.minutes) / 4))
        for number in range(first, 10**9, options.visitors):
            left = ends - time.monotonic()
            if left <= 0:
                return
            await Visitor(url, known, number, seen).stay(min(left, random.uniform(0.5, 1.5) * options.stay))

    await asyncio.gather(*(place(number) for number in range(options.visitors)))


async def described(url: str) -> dict[tuple[str, str], Handler]:
    """Return the server's handlers by the element and the event that set them off."""
    async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT, trust_env=False) as http:
        found = handlers((await http.get("/config")).json())
    return {one.causes[0]: one for one in reversed(found) if one.causes}


# ------------------------------------------------------------ the server


@dataclass
class Server:
    """A demo in a process of its own."""

    process: subprocess.Popen[str]
    url: str
    workspace: Path
    log: list[str] = field(default_factory=list)

    def megabytes(self) -> float:
        """Return the memory of the server and of the processes that read PDFs for it."""
        server = psutil.Process(self.process.pid)
        command, others = server.cmdline(), 0
        for one in server.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if one.cmdline() != command:  # else it is one that begins, with the server's memory as its own
                    others += one.memory_info().rss
        return self.alone() + others / 1e6

    def alone(self) -> float:
        """Return the memory of the server itself."""
        return float(psutil.Process(self.process.pid).memory_info().rss / 1e6)

    def owners(self) -> int:
        """Return how many visitors have documents."""
        with closing(sqlite3.connect(f"file:{self.workspace / 'pdfqa.sqlite'}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(DISTINCT owner) FROM documents").fetchone()[0])


def started(folder: Path, options: argparse.Namespace) -> Server:
    """Start a demo and wait until it is open."""
    workspace = folder / "workspace"
    log = (folder / "log").open("w+", encoding="utf-8")
    given = (str(workspace), options.retriever, str(options.keep), str(CLOCK))
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, *given], cwd=ROOT, stdout=log, stderr=log,
        env=clean_environment(TMPDIR=str(folder), PDFQA_LLM_URL="http://127.0.0.1:9/v1", PDFQA_MODEL="none"), text=True,
    )  # fmt: skip
    while not (found := re.search(r"open at (http://\S+)/", (folder / "log").read_text(encoding="utf-8"))):
        if process.poll() is not None:
            sys.exit(f"The server did not start:\n{(folder / 'log').read_text(encoding='utf-8')[-2000:]}")
        time.sleep(0.2)
    return Server(process, found[1], workspace)


async def watched(server: Server, work: Any) -> float:
    """Wait for some work and return the most memory that the server took meanwhile."""
    task, most = asyncio.ensure_future(work), 0.0
    while not task.done():
        most = max(most, server.megabytes())
        await asyncio.wait([task], timeout=1)
    await task
    return most


async def measured(server: Server, options: argparse.Namespace) -> bool:
    """Print what the visitors met; return whether all was right."""
    first, seen = Seen(), Seen()
    idle = server.megabytes()
    await Visitor(server.url, await described(server.url), 0, first).stay(5)
    before, alone = server.megabytes(), server.alone()
    peak = await watched(server, visits(server.url, options, seen))
    left = server.megabytes()
    ends = time.monotonic() + REMOVED
    while server.owners() and time.monotonic() < ends:
        await asyncio.sleep(2)
    await asyncio.sleep(2 * CLOCK)  # then the pages that were left are forgotten too, and memory is given back
    after, errors = server.megabytes(), seen.errors + first.errors
    print(f"{options.visitors} visitors at a time for {options.minutes:g} minutes, {seen.visitors} in all")
    print(f"{'':<24} {'times':>6} {'p50 s':>7} {'p95 s':>7} {'most s':>7}")
    for what, taken in seen.seconds.items():
        p95 = statistics.quantiles(taken, n=20)[-1] if len(taken) > 1 else taken[0]
        print(f"{what:<24} {len(taken):>6} {statistics.median(taken):>7.2f} {p95:>7.2f} {max(taken):>7.2f}")
    print(f"errors: {errors.total()}  {dict(errors.most_common(8)) or ''}")
    print(f"words of other visitors: {len(seen.mixed)}  {seen.mixed[:3] or ''}")
    print(
        f"MB: {idle:.0f} idle, {before:.0f} after one visitor, {peak:.0f} at most, {left:.0f} when the last had left, "
        f"{after:.0f} when the clock had removed them ({server.owners()} not removed)"
    )
    print(
        f"Memory afterwards is {after / before:.2f} x that after one visitor ({after - before:+.0f} MB, "
        f"{server.alone() - alone:+.0f} MB of them the server's own, the others of processes that read PDFs)"
    )
    return not errors and not seen.mixed and not server.owners()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=100, help="at a time")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--stay", type=float, default=60.0, help="seconds that a visitor stays, by half more or less")
    parser.add_argument("--keep", type=float, default=180.0, help="seconds without a change until a visitor is removed")
    parser.add_argument("--retriever", default="hybrid", choices=["bm25", "dense", "hybrid"])
    parser.add_argument("--quick", action="store_true", help="4 visitors for 12 seconds; they are not waited for")
    options = parser.parse_args()
    if options.quick:
        options.visitors, options.minutes, options.stay = 4, 0.2, 10
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder), options)
        try:
            right = asyncio.run(measured(server, options))
        finally:
            server.process.terminate()
            server.process.wait()
        log = (Path(folder) / "log").read_text(encoding="utf-8")
        print(f"lines of the log: {len(log.splitlines())}, tracebacks: {log.count('Traceback')}")
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
