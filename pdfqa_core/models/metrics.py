"""Models that metrics take: encoders of tokens, NLI cross-encoders, a language model that remembers its replies."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pdfqa_core import __version__
from pdfqa_core.interfaces import LLM
from pdfqa_core.metrics.replies import CachedLLM
from pdfqa_core.metrics.scoring_models import EntityFinder, NliCrossEncoder, SpanReader, TransformerTokens
from pdfqa_core.retrieval.model_folder import ModelFolder
from pdfqa_core.settings import LLMSettings
from pdfqa_core.storage.runs import FILENAME, StoredReplies
from pdfqa_core.streaming import result_of


def token_embedder(path_or_name: str = "") -> TransformerTokens:
    """Return the encoder at a path or of a hub name for BERTScore; "" is the bundled one.

    Raises ModelError if there is none, or one with pickled weights.
    """
    model = ModelFolder(path_or_name, "encoder", "leave it empty for the bundled one")
    return TransformerTokens(model.folder, name=model.name)


def nli_tagger(path_or_name: str) -> NliCrossEncoder:
    """Return the NLI cross-encoder at a path or of a hub name.

    Raises ModelError if there is none, one with pickled weights, or one whose labels do not name entailment.
    """
    model = ModelFolder(path_or_name, "NLI model", "leave it out to ask the language model")
    tagger = NliCrossEncoder(model.folder, name=model.name)
    assert tagger.labels
    return tagger


def span_reader(path_or_name: str) -> SpanReader:
    """Return the extractive question answering model at a path or of a hub name.

    Raises ModelError if there is none, or one with pickled weights.
    """
    model = ModelFolder(path_or_name, "question answering model", "leave it out to ask the language model")
    return SpanReader(model.folder, name=model.name)


def entity_finder(path_or_name: str) -> EntityFinder:
    """Return the named entity recogniser at a path or of a hub name.

    Raises ModelError if there is none, or one with pickled weights.
    """
    model = ModelFolder(path_or_name, "NER model", "leave it out to find names and numbers by rule")
    return EntityFinder(model.folder, name=model.name)


def remembering(llm: LLM, workspace: Path, settings: LLMSettings) -> CachedLLM:
    """Return the language model with its replies kept in the workspace's folder, across runs of the program.

    A server is asked for its model and context first, because replies depend on them. Raises ModelError if it does not
    answer.
    """
    if settings.engine == "openai":
        result_of(llm.prepare())
    return CachedLLM(llm, StoredReplies(workspace / FILENAME), model=identity(settings))


def identity(settings: LLMSettings) -> str:
    """Return what tells this model from another of the same name: 16 hex digits."""
    path = Path(settings.model).expanduser()
    file = [path.stat().st_size, path.stat().st_mtime_ns] if settings.model and path.is_file() else []
    told = [__version__, settings.engine, settings.model, settings.url, settings.context_size, file]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
