"""The named endpoints for other programs: list documents, read a page, search, ask, ingest, evaluate.

Each acts for the owner of the token, or of this computer. The shapes are those of `--json` on the command line.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.exports.frames import hit_row, turn_row
from pdfqa_core.exports.runs import results_object
from pdfqa_core.ingest import Source
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.protocols.gold import GoldFile, read_gold
from pdfqa_core.services import ANSWER, Services, job_name
from pdfqa_core.services import recipes as known
from pdfqa_core.services.finding import visible_text
from pdfqa_core.services.systems import grid
from pdfqa_core.types import Document, Hit, Page, Progress, Stored, Token
from pdfqa_core.ui import downloads
from pdfqa_core.ui.api_access import Access, endpoint
from pdfqa_core.ui.roles import check_models

FRAME = 0.1  # seconds between two steps of a stream
MOST_HITS = 100
JSON = dict[str, Any]


def offer(services: Services, access: Access) -> None:
    """Offer the endpoints. Called inside the `with` of the page, after its own handlers are guarded."""
    api = Api(services)
    for function in (api.list_documents, api.read_page, api.search, api.ask, api.ingest, api.evaluate):
        endpoint(function, access)


class Api:
    """What programs may ask for. `owner` is whose documents are meant; all methods raise PdfQAError."""

    def __init__(self, services: Services) -> None:
        self.services = services

    # ------------------------------------------------------------ documents and pages

    def list_documents(self, owner: str) -> JSON:
        """List the documents and the collections of documents."""
        documents = self.services.documents.kept.list(owner)
        readable = self.services.documents.readable(owner, self.services.settings)
        languages = {document.id: reading.language for document, reading in readable}
        return {
            "documents": [
                {
                    "document_id": one.id,
                    "filename": one.filename,
                    "title": one.title,
                    "pages": one.page_count,
                    "state": str(one.state),
                    "reason": one.reason,
                    "language": languages.get(one.id, ""),
                    "added_at": one.added_at.isoformat(timespec="seconds"),
                }
                for one in documents
            ],
            "collections": [
                {"name": one.name, "document_ids": list(one.document_ids)}
                for one in self.services.documents.collections.kept.list(owner)
            ],
        }

    def read_page(self, owner: str, document: str, page: int) -> JSON:
        """Read the text of one page, without what a person does not see on it.

        Args:
            document: file name, title or id of a document
            page: number of the page, from 1
        """
        found, read = self.page(owner, document, page)
        return {
            "filename": found.filename,
            "document_id": found.id,
            "page": read.number,
            "label": read.label,
            "pages": found.page_count,
            "source": str(read.source),
            "text": visible_text(read),
        }

    def page(self, owner: str, document: str, page: int) -> tuple[Document, Page]:
        """Return a document and one of its pages. Raises UsageError where there is no such one."""
        (document_id, *others) = self.services.documents.document_ids(owner, [document])
        if others:
            raise UsageError(f"Several documents are called {document!r}.", "Name one by its id.")
        readable = self.services.documents.readable(owner, self.services.settings, [document_id])
        found = self.services.documents.kept.get(owner, document_id)
        if not readable:
            raise UsageError(f"{found.filename} has no pages to read: {found.state}.", found.reason)
        if not 1 <= page <= found.page_count:
            raise UsageError(f"{found.filename} has no page {page}.", f"It has {found.page_count} pages.")
        return found, self.services.documents.kept.page(owner, document_id, readable[0][1].extractor, page)

    # ------------------------------------------------------------ searching

    def search(
        self, owner: str, question: str, k: int = 5, documents: list[str] | None = None, retriever: str = ""
    ) -> JSON:
        """Find passages for a question; no language model takes part.

        Args:
            question: a question, or words
            k: how many passages, at most 100
            documents: only in these: file names, titles, ids, or names of collections; none: in all
            retriever: how they are found, such as bm25, dense or hybrid; empty: as the server is set
        """
        hits = self.hits(owner, question, k, documents, retriever)
        by_id = self.by_id(owner)
        return {"hits": [hit_row(hit, by_id) for hit in hits]}

    def hits(
        self, owner: str, question: str, k: int, documents: Sequence[str] | None = None, retriever: str = ""
    ) -> list[Hit]:
        """Return the passages for a question, building the index where it is missing."""
        services, settings = self.services, self.services.settings
        if not 1 <= k <= MOST_HITS:
            raise UsageError(f"k is {k}.", f"Give a number from 1 to {MOST_HITS}.")
        if retriever:
            settings = settings.changed("retrieval", retriever=retriever)
            known.check(settings)
        services.documents.require_documents(owner)
        scope = services.documents.collections.searched(owner, self.scope(owner, documents)).document_ids
        for _ in services.index.build(owner, settings):
            pass
        return services.index.search(owner, question, settings, document_ids=scope, k=k)

    def scope(self, owner: str, names: Sequence[str] | None) -> tuple[str, ...]:
        """Return the documents and collections with these names or ids. Raises UsageError for an unknown one."""
        collections = {one.name.casefold(): one.id for one in self.services.documents.collections.kept.list(owner)}
        found: list[str] = []
        for name in names or ():
            chosen = collections.get(name.casefold())
            found += (chosen,) if chosen else self.services.documents.document_ids(owner, [name])
        return tuple(dict.fromkeys(found))

    def by_id(self, owner: str) -> dict[str, Document]:
        """Return the owner's documents by id."""
        return {one.id: one for one in self.services.documents.kept.list(owner)}

    # ------------------------------------------------------------ asking

    def ask(
        self,
        owner: str,
        question: str,
        documents: list[str] | None = None,
        conversation_id: str = "",
        anyway: bool = False,
    ) -> Iterator[JSON]:
        """Answer a question with citations, as a stream: what is written so far, at last ("done") the whole answer.

        The conversation is kept, as on the page. Who stops listening stops the answer.

        Args:
            question: the question; with a conversation it may be a follow-up
            documents: only in these: file names, titles, ids, or names of collections; none: in all
            conversation_id: goes on with this conversation; empty: a new one
            anyway: answer even if the passages do not seem to hold the answer
        """
        written = self.services.answers.begin(
            owner,
            question,
            self.services.settings,
            conversation_id=conversation_id,
            document_ids=self.scope(owner, documents),
            anyway=anyway,
        )
        text, status, shown, stored = "", "", 0.0, False
        try:
            for event in written.events():
                match event:
                    case Token(text=piece):
                        text, status = text + piece, "writing"
                    case Progress(phase=phase):
                        status = phase
                    case Stored(conversation_id=kept, turn=turn):
                        stored = True
                        yield {"done": True, **turn_row(turn, self.by_id(owner)), "conversation_id": kept}
                        return
                if time.monotonic() - shown > FRAME:
                    shown = time.monotonic()
                    yield {"done": False, "answer": text, "status": status, "conversation_id": written.subject}
        finally:
            if not stored:
                self.services.tasks.stop(job_name(ANSWER, owner, written.subject))

    # ------------------------------------------------------------ reading in

    def ingest(
        self, owner: str, file: dict[str, Any], password: str = "", collection: str = "", ocr: bool = False
    ) -> Iterator[JSON]:
        """Read a PDF in, as a stream: how far that is, at last ("done") what became of it.

        Args:
            file: an uploaded file: handle_file(path) of gradio_client, or {"path": …, "meta": {"_type":
                "gradio.FileData"}} with the path that an upload to /gradio_api/upload returned
            password: opens an encrypted PDF; never stored
            collection: puts the document into this collection, which is made if there is none
            ocr: read all pages as pictures
        """
        services, extraction = self.services, self.services.settings.extraction
        if ocr:
            extraction = services.settings.changed("extraction", extractor="visual", visual_pages="all").extraction
        source = _uploaded(file)
        batch = services.documents.jobs.begin(
            owner, [source], keep=True, password=password or None, extraction=extraction
        )
        shown = 0.0
        for event in batch.events():
            if isinstance(event, Progress) and time.monotonic() - shown > FRAME:
                shown = time.monotonic()
                yield {"done": False, "phase": event.phase, "step": event.done, "of": event.total}
        if not batch.documents:
            raise PdfQAError(f"{source.filename} was not read.", "Reading was stopped; send it again.")
        ids = [one.id for one in batch.documents if one.id in self.by_id(owner)]
        if collection:
            services.documents.collections.put_by_name(owner, collection, ids)
        yield {"done": True, "documents": [self._read(owner, one) for one in batch.documents]}

    def _read(self, owner: str, document: Document) -> JSON:
        passages = 0
        if document.state.usable:
            passages = len(self.services.index.passages(owner, self.services.settings, (document.id,)))
        return {
            "filename": document.filename,
            "document_id": document.id,
            "state": str(document.state),
            "reason": document.reason,
            "pages": document.page_count,
            "passages": passages,
        }

    # ------------------------------------------------------------ evaluating

    def evaluate(
        self,
        owner: str,
        questions: list[dict[str, Any]],
        retrievers: list[str] | None = None,
        chunkers: list[str] | None = None,
        documents: list[str] | None = None,
    ) -> Iterator[JSON]:
        """Measure whether systems find the gold pages, as a stream: how far, at last ("done") all measures.

        The evaluation is kept, as on the page.

        Args:
            questions: objects as in the lines of a JSONL file for `pdfqa evaluate retrieval`
            retrievers: systems use these, such as bm25 and hybrid; none: as the server is set
            chunkers: systems make passages in these ways; none: as the server is set
            documents: only in these: file names, titles, ids, or names of collections; none: in all
        """
        services = self.services
        systems = grid(services.settings, chunkers or (), retrievers or ())
        check_models(services, systems.values(), of_program=True)
        services.documents.require_documents(owner)
        scope = services.documents.collections.searched(owner, self.scope(owner, documents)).document_ids
        shown = 0.0
        for event in services.evaluation.evaluate_retrieval(owner, _gold(questions), systems, document_ids=scope):
            if not isinstance(event, Progress):
                yield {"done": True, "evaluation_id": event.id, **results_object(event, compare(event))}
            elif time.monotonic() - shown > FRAME:
                shown = time.monotonic()
                yield {"done": False, "phase": event.phase, "step": event.done, "of": event.total}


def _uploaded(file: dict[str, Any]) -> Source:
    """Return a file that was uploaded to this server. Raises UsageError for any other."""
    path = Path(str(file.get("path") or ""))
    try:
        inside = path.resolve(strict=True).is_relative_to(downloads.uploads().resolve()) and path.is_file()
    except (OSError, ValueError):
        inside = False
    if not inside:
        raise UsageError("The file is not one that was uploaded here.", "Send it to /gradio_api/upload first.")
    return Source(path, str(file.get("orig_name") or path.name))


def _gold(questions: Sequence[dict[str, Any]]) -> GoldFile:
    """Return questions as they would be read from a file. Raises UsageError that names the line."""
    with tempfile.TemporaryDirectory(dir=downloads.folder()) as folder:
        path = Path(folder) / "questions.jsonl"
        path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in questions), encoding="utf-8")
        return read_gold(path)
