"""Imports point down only and never in a circle: the syntax tree of every module is compared with the ladder below."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "pdfqa_core"

# From top to bottom. A module imports from lower rungs only; the members of a rung do not import each other, except
# where the rung is one layer in several files (the top, the services, the ground).
LADDER = (
    ("app", "ui", "cli", "__main__"),
    ("services", "models"),
    ("pipeline", "plans", "ingest", "protocols", "synthesis", "training", "exports"),
    ("extraction", "chunking", "retrieval", "llm", "reading", "conversation", "metrics", "storage", "cluster"),
    (
        "settings",
        "settings_sources",
        "looks",
        "registry",
        "characters",
        "text",
        "languages",
        "whole_files",
        "programs",
        "full_disk",
        "page_codec",
        "json_codec",
        "csv_format",
        "background",
        "cores",
        "streaming",
        "time_left",
        "errors",
        "interfaces",
        "evaluation_types",
        "study_types",
        "types",
        "root",
    ),
)
TOP, SERVICES, PARTS, GROUND = LADDER[0], LADDER[1], LADDER[3], LADDER[4]
PLACE = {member: rung for rung, members in enumerate(LADDER) for member in members}
TOGETHER = {PLACE["app"], PLACE["services"], PLACE["types"]}

ONLY_ON_TOP = ("gradio", "argparse")
ONLY_IN_STORAGE = ("sqlalchemy", "alembic")
WITHOUT_STORAGE = ("ui", "cli")  # they have the services
HEAVY = (
    "torch",
    "sentence_transformers",
    "transformers",
    "llama_cpp",
    "onnxruntime",
    "rapidocr",
    "rapid_layout",
    "cv2",
    "sklearn",
    "scipy",
    "hnswlib",
    "lancedb",
    "lance",
    "ray",
)


@dataclass(frozen=True)
class Import:
    """One imported module, the name taken from it (empty: the module itself), and whether it runs at import time."""

    module: str
    name: str
    line: int
    at_once: bool

    @property
    def library(self) -> str:
        return self.module.partition(".")[0]

    @property
    def member(self) -> str:
        """The member of the ladder that is imported; empty for other libraries."""
        first, _, rest = self.module.partition(".")
        if first == "app" and not rest:
            return "app"
        if first != PACKAGE:
            return ""
        member = rest.partition(".")[0] or self.name
        return member if member in PLACE else "root"


def member_of(module: str) -> str:
    """Return the member of the ladder that a module belongs to: `pdfqa_core.ui.chat` is of `ui`."""
    if module == "app":
        return "app"
    return [*module.split("."), "root"][1]


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def nodes(tree: ast.AST, at_once: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node with whether it runs when the module is imported."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and is_type_checking(child.test):
            for part, inner in ((child.body, False), (child.orelse, at_once)):
                for statement in part:
                    yield statement, inner
                    yield from nodes(statement, inner)
            continue
        yield child, at_once
        later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from nodes(child, at_once and not later)


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[Import]:
    """Yield what a module imports, wherever in it, also by importlib with a literal name."""
    for node, at_once in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, "", node.lineno, at_once)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parts = module.split(".")
                base = parts[: len(parts) - node.level + is_package]
                source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(source, alias.name, node.lineno, at_once)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            literal = [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
            yield from (Import(str(name), "", node.lineno, at_once) for name in literal)


def registered(tree: ast.AST) -> set[str]:
    """Return the names of the classes and functions that are filed in a registry: the concrete strategies."""
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".register")
    }


def ladder_fault(me: str, found: Import) -> str:
    """Return what is wrong with the direction of an import, or nothing."""
    other = found.member
    if not other or other == me:
        return ""
    if me in PARTS and other.startswith("settings"):
        return "a part takes plain keyword arguments, never settings"
    if me == "types" or (me == "errors" and other != "types"):
        return f"{me} imports {other}, but stands at the very bottom"
    if PLACE[other] < PLACE[me]:
        return f"{me} imports {other}, which stands above it"
    if PLACE[other] == PLACE[me] and PLACE[me] not in TOGETHER:
        return f"{me} imports its sibling {other}"
    return ""


def library_fault(me: str, found: Import) -> str:
    """Return what is wrong with importing a library or the storage here, or nothing."""
    if found.library in ONLY_ON_TOP and me not in TOP:
        return f"{me} imports {found.library}; only {', '.join(TOP)} may"
    if found.member == "storage" and me in WITHOUT_STORAGE:
        return f"{me} imports storage, which is behind the services"
    if found.library in ONLY_IN_STORAGE and me != "storage":
        return f"{me} imports {found.library}; only storage may"
    if found.library in HEAVY and found.at_once:
        return f"{found.library} is imported when the module is; import it in the function that uses it"
    return ""


def violations(module: str, source: str, concrete: dict[str, str], is_package: bool = False) -> list[str]:
    """Return one line for each rule that a module breaks. `concrete` maps strategy classes to their parts."""
    me, tree = member_of(module), ast.parse(source)
    if me not in PLACE:
        return [f"{module}: {me} has no place in the ladder of {Path(__file__).name}"]
    faults = []
    for found in imports(tree, module, is_package):
        for fault in (ladder_fault(me, found), library_fault(me, found)):
            if fault:
                faults.append(f"{module}:{found.line}: {fault}")
        owner = concrete.get(found.name)
        if owner and owner == found.member != me and me not in SERVICES:
            faults.append(f"{module}:{found.line}: {me} names {found.name} of {owner}; only services may")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and me not in TOP:
            faults.append(f"{module}:{node.lineno}: {me} prints; only {', '.join(TOP)} may")
        if isinstance(node, ast.Attribute) and node.attr in ("store", "_store") and me in WITHOUT_STORAGE:
            faults.append(f"{module}:{node.lineno}: {me} uses .{node.attr}, which is behind the services")
    return faults


def modules() -> dict[str, Path]:
    """Return the project's modules by dotted name."""
    found = {"app": ROOT / "app.py"}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@pytest.fixture(scope="module")
def concrete() -> dict[str, str]:
    return {
        name: member_of(module)
        for module, path in MODULES.items()
        if member_of(module) in PARTS
        for name in registered(ast.parse(path.read_text(encoding="utf-8")))
    }


@pytest.mark.parametrize("module", MODULES)
def test_the_module_keeps_to_the_ladder(module, concrete):
    path = MODULES[module]
    faults = violations(module, path.read_text(encoding="utf-8"), concrete, path.name == "__init__.py")
    assert not faults, "\n".join(faults)


def test_the_strategies_are_seen(concrete):
    assert set(concrete.values()) >= {"extraction", "chunking", "retrieval", "llm", "reading", "conversation"}


CONCRETE = {"BM25": "retrieval", "Windows": "chunking"}


@pytest.mark.parametrize(
    ("module", "source", "words"),
    [
        ("pdfqa_core.chunking.windows", "from pdfqa_core.retrieval import Index", "its sibling retrieval"),
        ("pdfqa_core.reading.base", "import pdfqa_core.llm.ticket_lock", "its sibling llm"),
        ("pdfqa_core.pipeline", "from pdfqa_core.protocols import annotation", "its sibling protocols"),
        ("pdfqa_core.text", "from pdfqa_core import services", "stands above it"),
        ("pdfqa_core.storage.store", "def f():\n    from pdfqa_core.pipeline import ask", "stands above it"),
        ("pdfqa_core.services", "from pdfqa_core.ui.theme import CSS", "stands above it"),
        ("pdfqa_core.services", "import app", "stands above it"),
        ("pdfqa_core.metrics.answer", "from ..reading import cite", "its sibling reading"),
        ("pdfqa_core.metrics.answer", "import importlib\nimportlib.import_module('pdfqa_core.llm')", "its sibling llm"),
        ("pdfqa_core.retrieval.dense", "from pdfqa_core.settings import Settings", "never settings"),
        ("pdfqa_core.types", "from pdfqa_core.text import words", "very bottom"),
        ("pdfqa_core.errors", "from pdfqa_core.registry import Registry", "very bottom"),
        ("pdfqa_core.pipeline", "import gradio as gr", "imports gradio"),
        ("pdfqa_core.services", "def f():\n    import argparse", "imports argparse"),
        ("pdfqa_core.exports.csv", "from sqlalchemy.orm import Session", "only storage may"),
        ("pdfqa_core.ui.chat", "import alembic.config", "only storage may"),
        ("pdfqa_core.retrieval.dense", "import torch.nn", "when the module is"),
        ("pdfqa_core.cli.ask", "try:\n    import llama_cpp\nexcept ImportError:\n    raise", "when the module is"),
        ("pdfqa_core.llm.base", "class A:\n    from transformers import AutoModel", "when the module is"),
        ("pdfqa_core.pipeline", "from pdfqa_core.retrieval import BM25", "names BM25 of retrieval"),
        ("pdfqa_core.cli.ask", "from pdfqa_core.chunking.windows import Windows", "names Windows of chunking"),
        ("pdfqa_core.retrieval.base", "def f():\n    print('here')", "prints"),
        ("pdfqa_core.ui.chat", "from pdfqa_core.storage import Reading", "behind the services"),
        ("pdfqa_core.cli.ask", "def f(services):\n    services._store.close()", "behind the services"),
        ("pdfqa_core.newcomer", "import json", "no place in the ladder"),
    ],
)
def test_a_violation_is_caught(module, source, words):
    faults = violations(module, source, CONCRETE)
    assert len(faults) == 1
    assert words in faults[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pdfqa_core.retrieval.dense", "def f():\n    import torch"),
        ("pdfqa_core.retrieval.dense", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"),
        ("pdfqa_core.retrieval.dense", "from pdfqa_core.retrieval.bm25 import BM25"),
        ("pdfqa_core.services", "from pdfqa_core.retrieval import BM25"),
        ("pdfqa_core.cli.serve", "from pdfqa_core.ui import launch\nprint('listening')"),
        ("pdfqa_core.ui.chat", "import gradio as gr\nfrom pdfqa_core.types import Turn"),
        ("pdfqa_core.storage.tables", "import sqlalchemy"),
        ("pdfqa_core.cli", "from pdfqa_core import __version__"),
        ("app", "from pdfqa_core.cli.serve import serve"),
    ],
)
def test_what_is_allowed_passes(module, source):
    assert violations(module, source, CONCRETE) == []


class WithoutTypeChecking(ast.NodeTransformer):
    """Leaves out what only type checkers run."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if is_type_checking(node.test) else node


def imported_modules(module: str, source: str, known: Mapping[str, Path], is_package: bool = False) -> set[str]:
    """Return the project's modules that a module imports, at once or later."""
    tree = WithoutTypeChecking().visit(ast.parse(source))
    found = set()
    for one in imports(tree, module, is_package):
        inner = f"{one.module}.{one.name}"
        found.add(inner if inner in known else one.module)
    return {name for name in found if name in known} - {module}


def folder_of(module: str, known: Mapping[str, Path]) -> str:
    """Return a module's folder; where that has folders in it (or is the package), the module itself."""
    path = known[module]
    mixed = any(other.parent.parent == path.parent for other in known.values() if other.name == "__init__.py")
    if mixed or path.parent in (ROOT, ROOT / PACKAGE):
        return module
    return str(path.parent.relative_to(ROOT))


def circle(graph: Mapping[str, set[str]]) -> str:
    """Return a circle of a graph as "a → b → a", or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " → ".join(reversed(error.args[1]))
    return ""


@pytest.fixture(scope="module")
def import_graph() -> dict[str, set[str]]:
    known = {module: path for module, path in MODULES.items() if "migrations" not in path.parts}
    return {
        module: imported_modules(module, path.read_text(encoding="utf-8"), known, path.name == "__init__.py")
        for module, path in known.items()
    }


def test_no_circle_of_modules(import_graph):
    assert circle(import_graph) == ""


def test_no_circle_of_folders(import_graph):
    known = {module: MODULES[module] for module in import_graph}
    folders: dict[str, set[str]] = {}
    for module, others in import_graph.items():
        here = folder_of(module, known)
        folders.setdefault(here, set()).update({folder_of(other, known) for other in others} - {here})
    assert circle(folders) == ""


def test_a_circle_is_found_also_through_a_later_import_but_not_one_of_types():
    known = dict.fromkeys(("pdfqa_core.a", "pdfqa_core.b"), ROOT)
    lazily = imported_modules("pdfqa_core.a", "def f():\n    from pdfqa_core import b", known)
    back = imported_modules("pdfqa_core.b", "from .a import f", known)
    assert circle({"pdfqa_core.a": lazily, "pdfqa_core.b": back}).count("→") == 2
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pdfqa_core.a import f"
    assert imported_modules("pdfqa_core.b", types, known) == set()


def test_registered_classes_are_found():
    tree = ast.parse("@retrievers.register('bm25')\nclass BM25: ...\n@dataclass(frozen=True)\nclass Stats: ...")
    assert registered(tree) == {"BM25"}


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("pdfqa_core.types, pdfqa_core.settings_sources", ("gradio", "torch", "sqlalchemy", "pypdfium2", "llama_cpp")),
        ("pdfqa_core.services", ("gradio", *HEAVY)),
    ],
)
def test_importing_loads_no_more_than_it_needs(imported, absent):
    code = f"import sys, {imported}; print(*sorted(set({absent!r}) & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
