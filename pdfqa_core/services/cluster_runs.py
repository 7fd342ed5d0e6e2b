"""Questions of a run answered by the workers of a cluster, where the language model is a server.

Each worker is given once what a system needs: the text of the documents as a database of its own, their index, the
settings. A conversation is a task. What a worker makes of it comes back with the new replies of the model, and is
stored here: workers write nothing that lasts.
"""

from __future__ import annotations

import threading
from collections import ChainMap
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pdfqa_core.cluster import Cluster
from pdfqa_core.errors import ModelError
from pdfqa_core.evaluation_types import Prediction, RunSystem
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.metrics.replies import FAILURES_IN_A_ROW, CachedLLM
from pdfqa_core.models import Encoders, LanguageModel, ModelFiles, Models, graphs_path
from pdfqa_core.protocols.runs import RECORDED, CaseFile
from pdfqa_core.retrieval import Index, prepared
from pdfqa_core.retrieval.encoder import TextEncoder, Vectors
from pdfqa_core.retrieval.onnx_graph import INT8
from pdfqa_core.retrieval.postings import Postings
from pdfqa_core.services.answers import AnswerService
from pdfqa_core.services.collections import CollectionService
from pdfqa_core.services.documents import DocumentService
from pdfqa_core.services.indexes import IndexService
from pdfqa_core.services.passwords import Passwords
from pdfqa_core.services.preparation import Preparation
from pdfqa_core.services.room import Room
from pdfqa_core.services.run_asking import Outcomes, predicted
from pdfqa_core.services.run_systems import AskedSystem
from pdfqa_core.services.tasks import Tasks
from pdfqa_core.settings import ExtractionSettings, LLMSettings, Settings
from pdfqa_core.settings_sources import models_path
from pdfqa_core.storage.document_copies import NOWHERE, CopiedDocuments
from pdfqa_core.storage.replies import StoredReplies
from pdfqa_core.types import Passage, Progress


@dataclass(frozen=True, eq=False)
class Sent:
    """What an index is made of again."""

    passages: tuple[Passage, ...]
    postings: Postings
    embeddings: Vectors | None

    def index(self, encoder: TextEncoder | None) -> Index:
        """Return the index, in memory."""
        return Index(self.passages, self.postings, self.embeddings, encoder=encoder)


@dataclass(frozen=True, eq=False)
class Material:
    """All that answers a system's questions, wherever that happens.

    `documents` is a database of the documents that are searched, `replies` the file of replies known so far. `index` is
    what is searched, without its encoder; `encoder_hash` is that of the model that made its vectors, "" where there are
    none. `models` and `graphs` are folders of this computer. `key` is the language model server's, `mark` what replies
    are kept under.
    """

    system: RunSystem
    settings: Settings
    extraction: ExtractionSettings
    file: CaseFile
    owner: str
    filenames: Mapping[str, str]
    document_ids: tuple[str, ...]
    documents: bytes = field(repr=False)
    replies: bytes = field(repr=False)
    index: Sent | None = field(repr=False)
    encoder_hash: str
    models: Path
    graphs: Path
    key: str = field(repr=False)
    mark: str


@dataclass(frozen=True, slots=True)
class Talk:
    """A task: the open questions of a conversation in their order, and what came of those before them."""

    ids: tuple[str, ...]
    earlier: Mapping[str, Prediction]


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of each question, whether the model is why nothing did, and the model's new replies by their key."""

    made: tuple[tuple[Prediction, bool], ...]
    replies: Mapping[str, str]


# ------------------------------------------------------------------ on a worker


class _Bench:
    """What answers on a worker, all of it in memory."""

    def __init__(self, material: Material) -> None:
        settings, self._copy = material.settings, CopiedDocuments(material.documents)
        store, tasks = self._copy.store, Tasks()
        self._stored = StoredReplies.of(material.replies)
        self._replies: ChainMap[str, str] = ChainMap({}, {}, self._stored)  # of this task, of this worker, of before
        files, opened_with = ModelFiles(NOWHERE, material.models), Settings()
        opened_with = opened_with.model_copy(update={"extraction": material.extraction})
        encoders = Encoders.with_graphs(material.graphs, files.encoders.find, files.encoders.find_late)
        models = Models(encoders, LanguageModel(settings.llm, files, key=lambda url: material.key), files)
        llm = CachedLLM(models.language.llm(), self._replies, mark=material.mark)
        documents = DocumentService(store, opened_with, Passwords(), tasks, Room(store, opened_with.server))
        indexes = IndexService(NOWHERE, documents, encoders, tasks)
        answers = AnswerService(
            store,
            documents,
            CollectionService(store),
            indexes,
            Preparation(indexes),
            models.language,
            tasks,
            lambda _: llm,
        )
        self._never = threading.Event()
        self._cases = {case.id: case for case in material.file.cases}
        self._asked = AskedSystem(
            material.system, settings, material.file, material.owner, answers, indexes, material.filenames,
            lambda: llm, material.document_ids,
        )  # fmt: skip
        encoder = indexes.encoder(settings) if material.encoder_hash else None
        if encoder is not None and encoder.model_hash != material.encoder_hash:
            raise ModelError(
                f"A worker of the cluster has another embedding model than this computer: {encoder.name}.",
                "Put the same files at the same path on every computer of the cluster.",
            )
        if material.index is not None:
            self._asked.index = material.index.index(encoder)
            indexes.take(material.owner, settings, self._asked.index)

    def answered(self, talk: Talk) -> Answered:
        """Return what comes of the questions of a conversation; of three failures of the model in a row no more."""
        fresh: dict[str, str] = {}
        self._replies.maps[0] = fresh
        earlier, made, in_a_row = dict(talk.earlier), list[tuple[Prediction, bool]](), 0
        for one in talk.ids:
            prediction, by_model = predicted(self._asked, self._cases[one], earlier, self._never)
            made.append((prediction, by_model))
            earlier[one] = prediction
            in_a_row = in_a_row + 1 if by_model else 0
            if in_a_row >= FAILURES_IN_A_ROW:
                break
        self._replies.maps[1].update(fresh)
        return Answered(tuple(made), fresh)

    def close(self) -> None:
        """Free the memory."""
        self._stored.close()
        self._copy.close()


_benches: list[tuple[Material, _Bench]] = []  # on a worker: the one of the last task


def answer(material: Material, talk: Talk) -> Answered:
    """Answer the questions of a conversation, on a worker. Raises ModelError where it has another encoder."""
    if not _benches or _benches[0][0] is not material:
        while _benches:
            _benches.pop()[1].close()
        _benches.append((material, _Bench(material)))
    return _benches[0][1].answered(talk)


# ------------------------------------------------------------------ here


class ClusterAsking:
    """Puts the open questions of systems to the workers of a cluster. `llm` says where models lie."""

    def __init__(self, cluster: Cluster, llm: LLMSettings, documents: DocumentService, indexes: IndexService) -> None:
        self._cluster = cluster
        self._models, self._graphs = models_path(llm), graphs_path(llm)
        self._documents = documents
        self._indexes = indexes

    @staticmethod
    def can(asked: AskedSystem) -> bool:
        """Whether a prepared system can answer elsewhere: by a server's model, from an index that can be sent there."""
        settings, index = asked.settings, asked.index
        if settings.llm.engine != "openai" or asked.system.evidence == RECORDED:
            return False
        if index is None:
            return True
        late = prepared(settings.retrieval.model_dump())
        return not late and isinstance(index, Index) and index.waiting is None

    def ask(
        self, asked: AskedSystem, file: CaseFile, outcomes: Outcomes, mark: str, key: str, replies: StoredReplies,
        stop: StopSignal,
    ) -> Generator[Progress, None, None]:  # fmt: skip
        """Put the open questions to a system, several conversations at a time, and keep the model's new `replies`.

        `mark` is what they are kept under, `key` the language model server's.
        Raises StoppedError, ModelError, ClusterError.
        """
        talks = _talks(file, outcomes.known)
        if not talks:
            return
        phase = f"{asked.system.name}: questions on the cluster"
        total, done = len(file.cases), len(outcomes.known)
        yield Progress(phase, done, total, outcomes.left)
        material = self._material(asked, file, mark, key, replies)
        with closing(self._cluster.map(answer, talks, stop, material)) as results:
            for _, answered in results:
                for asked_for, reply in answered.replies.items():
                    replies[asked_for] = reply
                for made, by_model in answered.made:
                    outcomes.take(made, by_model=by_model)
                done += len(answered.made)
                yield Progress(phase, done, total, outcomes.left)

    def _material(self, asked: AskedSystem, file: CaseFile, mark: str, key: str, replies: StoredReplies) -> Material:
        settings, index, hashed, used = asked.settings, asked.index, "", {}
        if index is not None and index.has_embeddings:
            encoder = self._indexes.encoder(settings)
            hashed = encoder.model_hash
            eight_bits = getattr(encoder, "form", "") == INT8
            settings = settings.changed("retrieval", embedding_precision=INT8 if eight_bits else "exact")
        if index is not None and not file.corpus:
            used = {one.id: reading.extractor for one, reading in self._documents.readable(asked.owner, settings)}
        sent = Sent(index.passages, index.postings, index.embeddings) if isinstance(index, Index) else None
        return Material(
            asked.system, settings, self._documents.extraction, file, asked.owner, asked.filenames,
            asked.document_ids, self._documents.copy(asked.owner, used), replies.copy(), sent, hashed, self._models,
            self._graphs, key, mark,
        )  # fmt: skip


def _talks(file: CaseFile, known: Mapping[str, Prediction]) -> list[Talk]:
    """Return the conversations that have open questions, in the order of the file."""
    found: dict[str, list[str]] = {}
    before: dict[str, dict[str, Prediction]] = {}
    for case in file.cases:
        talk = case.conversation or case.id
        if case.id in known:
            before.setdefault(talk, {})[case.id] = known[case.id]
        else:
            found.setdefault(talk, []).append(case.id)
    return [Talk(tuple(ids), before.get(talk, {})) for talk, ids in found.items()]
