"""Which models a run uses beside the language model, and what tells their files from others of the same name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.evaluation_types import RunPlan
from pdfqa_core.models import Models
from pdfqa_core.models.encoder_files import EncoderFiles, models_of
from pdfqa_core.protocols.runs import SEARCH
from pdfqa_core.retrieval import needs_embeddings, prepared
from pdfqa_core.retrieval.model_folder import ModelFolder
from pdfqa_core.retrieval.paired_encoder import parts_of
from pdfqa_core.services.run_files import model_hash
from pdfqa_core.services.run_systems import load_settings
from pdfqa_core.settings import Settings

ENCODER, LATE, RERANKER = "encoder", "late interaction model", "re-ranker"
METRICS = {"nli": "NLI model", "ner": "NER model", "qa_model": "reading model"}  # by the option that names one
MEANING = "BERTScore’s encoder"


def search_models(settings: Settings, files: EncoderFiles) -> tuple[tuple[str, str], ...]:
    """Return the models that a system searches with: what each is for, and the hash of its files.

    16 hex digits over configuration, vocabulary and weights; "" for a model that goes by its name on the hub: whether
    it is here must not decide which run is gone on with. Raises ModelError for a folder without a model.
    """
    return tuple((role, _hashes(folders, hub=False)) for role, (_, folders) in _used(settings, files).items())


def used_models(plan: RunPlan, needs: frozenset[str], files: EncoderFiles) -> dict[str, str]:
    """Return name and hash of every model that a finished run used beside the language model, by what it is for."""
    found: dict[str, list[str]] = {}
    for system in plan.systems:
        if system.evidence != SEARCH:
            continue
        with suppress(PdfQAError):  # one that was in use, and is gone since
            for role, (name, folders) in _used(load_settings(system), files).items():
                found.setdefault(role, []).append(_told(name, folders))
    scoring = {role: plan.options[option] for option, role in METRICS.items() if plan.options.get(option)}
    if plan.options.get("bertscore", "yes" if "embedder" in needs else "") == "yes":
        scoring[MEANING] = ""
    for role, name in scoring.items():
        with suppress(PdfQAError):
            found[role] = [_told(name, (name,))]
    return {role: "; ".join(dict.fromkeys(names)) for role, names in found.items()}


def check_brought(plan: RunPlan, models: Models) -> None:
    """Raise UsageError where a run that came in a file needs other models than are in use or known here.

    Its language model must be the one in use, in the same form; all others of the catalogue or trained here. No path,
    address or hub name of a file is followed.
    """
    here = models.language.settings
    used = (here.model or here.url, here.context_size, here.chat_template, here.weights)
    foreign = [plan.options[option] for option in METRICS if plan.options.get(option)]
    for system in plan.systems:
        settings = load_settings(system)
        llm = settings.llm
        asked = (system.model, llm.context_size, llm.chat_template, llm.weights)
        if system.model and (asked != used or system.model_hash != model_hash(here, models.language.file)):
            raise UsageError(
                f"{system.name} asks {_form(*asked)}; in use here is {_form(*used)}.",
                "Choose that model and its settings on the Models tab, or begin the run anew with the one here.",
            )
        if system.evidence == SEARCH:
            foreign += models.files.encoders.foreign(models_of(settings.retrieval))
    if foreign:
        raise UsageError(
            f"The run came in a file and names a model that is not known here: {foreign[0]}.",
            "Begin it anew with a model of this computer.",
        )


def _form(model: str, context: int, template: str, weights: str) -> str:
    return f"{model} (context {context:,}, {f'template {template}, ' if template else ''}weights {weights})"


def _used(settings: Settings, files: EncoderFiles) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return the models that a system searches with, by what each is for: its name, and its folders or hub names."""
    chosen = settings.retrieval
    parameters = chosen.model_dump()
    found = {}
    if needs_embeddings(parameters):
        found[ENCODER] = (chosen.embedding_model, tuple(map(files.find, parts_of(chosen.embedding_model))))
    if prepared(parameters):
        found[LATE] = (chosen.late_model, (files.find_late(chosen.late_model),))
    if chosen.reranker:
        found[RERANKER] = (chosen.reranker, (chosen.reranker,))
    return found


def _told(name: str, folders: Iterable[str]) -> str:
    named = name or ModelFolder("", "encoder", "").name
    hashed = _hashes(folders, hub=True)
    return f"{named}, hash {hashed}" if hashed else named


def _hashes(folders: Iterable[str], *, hub: bool) -> str:
    return " + ".join(filter(None, (_hashed(folder, hub=hub) for folder in folders)))


def _hashed(wanted: str, *, hub: bool) -> str:
    if wanted and not hub and not Path(wanted).expanduser().is_dir():
        return ""
    folder = ModelFolder(wanted, "model", "choose another one").folder
    return _hash_of(str(folder), max((one.stat().st_mtime_ns for one in folder.rglob("*")), default=0))


@lru_cache(maxsize=32)
def _hash_of(folder: str, _changed: int) -> str:
    return ModelFolder(folder, "model", "choose another one").model_hash
