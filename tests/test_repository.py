"""The repository itself: imports, locks, setup, the container file, and what its pages name."""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from pdfqa_core import ui
from pdfqa_core.chunking import chunkers
from pdfqa_core.cli import parser
from pdfqa_core.metrics.base import measures
from pdfqa_core.protocols.gold import file_readers, read_gold
from pdfqa_core.retrieval import Index, retrievers
from pdfqa_core.services import Services
from pdfqa_core.types import Passage, Span
from tests.services.helpers import BM25
from tests.serving_fakes import FakeModels

ROOT = Path(__file__).resolve().parent.parent


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# ------------------------------------------------------------ what imports what

HEAVY = (
    "torch", "sentence_transformers", "transformers", "llama_cpp", "onnxruntime", "rapidocr", "rapid_layout", "cv2",
    "sklearn", "scipy", "hnswlib", "lancedb", "lance", "ray",
)  # fmt: skip


def test_imports_keep_to_the_contracts_of_the_project():
    # In a process of its own: it silences every logger that is there already.
    run = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    assert subprocess.run([sys.executable, "-c", run], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("pdfqa_core.types, pdfqa_core.settings", ("gradio", "torch", "sqlalchemy", "pypdfium2", "llama_cpp")),
        ("pdfqa_core.services", ("gradio", *HEAVY)),
    ],
)
def test_importing_loads_no_more_than_it_needs(imported, absent):
    code = f"import sys, {imported}; print(*sorted(set({absent!r}) & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


# ------------------------------------------------------------ locks

LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-build.lock", "requirements-cpu.lock"]
DEV = ["requirements-dev.txt", "requirements-lance.txt", "requirements-cluster.txt"]
# What torch brings on Linux, unless it is PyTorch's build without CUDA.
CUDA = re.compile(r"cuda-.*|nvidia-.*|triton")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)

# The versions that mend what docs/security.md lists, or what the program needs to be safe.
FLOORS = {
    "gradio": "6.31", "pdfplumber": "0.11.10", "pdfminer-six": "20260107", "llama-cpp-python": "0.3.36",
    "jinja2": "3.1.6", "hnswlib": "0.8.0", "torch": "2.10", "starlette": "0.49.1", "python-multipart": "0.0.27",
    "nltk": "3.9.3", "onnx": "1.21", "pillow": "12.3.0", "urllib3": "2.6.0", "click": "8.3.3", "mcp": "1.28",
}  # fmt: skip
# What is not mended, or not safe with foreign files, and must not be used: see docs/security.md.
NEVER = re.compile(
    r"diskcache|DiskCache|onnx\.hub|torch\.load\b|nltk\.(?:download|data)|import pickle|pickle\.loads?\b"
    r"|allow_pickle=True|trust_remote_code=True"
)


def pins(name: str) -> dict[str, str]:
    return {canonicalize_name(package): version for package, version in PIN.findall(text_of(name))}


def entries(lock: Path) -> dict[str, str]:
    """Return the hashes of a lock by the requirement that they are of, with its marker."""
    text = re.sub(r"^\s*#.*\n", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    parts = (entry.partition(" \\\n") for entry in re.split(r"\n(?=[A-Za-z0-9])", text.strip()))
    return {requirement: hashes for requirement, _, hashes in parts}


@pytest.mark.parametrize(
    ("lock", "files"),
    [("", ["requirements.txt"]), ("-dev", DEV), ("-build", ["requirements-build.txt"])],
)
def test_a_lock_has_every_requirement_at_its_version(lock: str, files: list[str]):
    wanted = {package: version for file in files for package, version in pins(file).items()}
    locked = pins(f"requirements{lock}.lock")
    assert len(wanted) > 4
    assert {package: locked.get(package) for package in wanted} == wanted
    lines = [line for file in files for line in text_of(file).splitlines() if line and not line.startswith(("#", "-r"))]
    assert {line for line in lines if "==" not in line} <= {"numpy", "setuptools"}  # those of requirements.lock


def test_the_tests_run_with_what_the_app_runs_with():
    app, dev = entries(ROOT / "requirements.lock"), entries(ROOT / "requirements-dev.lock")
    assert {requirement: dev.get(requirement) for requirement in app} == app
    named = pins("requirements.lock")
    built_with = {
        one: hashes
        for one, hashes in entries(ROOT / "requirements-build.lock").items()
        if Requirement(one).name in named
    }
    assert {"setuptools", "numpy"} <= {Requirement(one).name for one in built_with}
    assert {one: app.get(one) for one in built_with} == built_with
    assert pins("requirements-cpu.lock") == {"torch": pins("requirements.txt")["torch"] + "+cpu"}


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_the_lock_has_a_hash_and_comes_from_the_index(name: str):
    text, found = text_of(name), entries(ROOT / name)
    assert len(found) == len(PIN.findall(text)) > 0
    assert [requirement for requirement, hashes in found.items() if "--hash=sha256:" not in hashes] == []
    assert not re.search(r"https?://|file:|^-", text, re.MULTILINE)


def test_what_is_installed_is_what_is_locked():
    without_cuda = metadata.version("torch").endswith("+cpu")
    differ, compared = [], 0
    for one in map(Requirement, entries(ROOT / "requirements-dev.lock")):
        if (one.marker and not one.marker.evaluate()) or (without_cuda and CUDA.fullmatch(one.name)):
            continue
        compared += 1
        try:
            installed = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            installed = "missing"
        if installed == "missing" or not one.specifier.contains(installed, prereleases=True):
            differ.append(f"{one.name}: {installed} is installed, {one.specifier} is locked")
    assert compared > 170
    assert differ == [], "make setup-dev installs what is locked"


def test_what_an_advisory_was_about_is_locked_at_a_version_that_mends_it():
    locked = pins("requirements.lock")
    assert {name: locked[name] for name, floor in FLOORS.items() if Version(locked[name]) < Version(floor)} == {}


def test_what_has_no_mended_version_is_not_used():
    modules = [*(ROOT / "pdfqa_core").rglob("*.py")]
    assert len(modules) > 100
    used = {f"{path.name}: {found[0]}" for path in modules if (found := NEVER.search(path.read_text(encoding="utf-8")))}
    assert used == set()


def test_both_opencv_packages_are_one_version_because_they_share_their_files():
    found = pins("requirements.txt")
    assert found["opencv-python"] == found["opencv-python-headless"]


def test_the_space_runs_what_is_pinned():
    told = yaml.safe_load(text_of("README.md").split("---\n", 2)[1])
    assert (told["sdk"], told["sdk_version"]) == ("gradio", pins("requirements.txt")["gradio"])
    assert (told["app_file"], told["python_version"]) == ("app.py", "3.11")
    assert len(told["short_description"]) < 60  # the hub refuses longer ones


def test_the_pins_fit_what_a_space_installs_in_the_same_step():
    """A Space asks for gradio[oauth,mcp] too: a pin that one of these does not allow ends the build."""
    pinned = pins("requirements.txt")
    checked = []
    for line in metadata.distribution("gradio").requires or ():
        needed = Requirement(line)
        name = canonicalize_name(needed.name)
        if name in pinned and any(
            needed.marker is None or needed.marker.evaluate({"extra": one}) for one in ("", "oauth", "mcp")
        ):
            assert needed.specifier.contains(pinned[name]), f"{line}, but {pinned[name]} is pinned"
            checked.append(name)
    assert {"mcp", "pydantic", "starlette"} <= set(checked)


# ------------------------------------------------------------ setup

in_bash = pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="make runs it in bash")


def setup(folder: Path, what: str = "app", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of the script in a checkout with nothing but the requirements."""
    (folder / "scripts").mkdir(exist_ok=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", folder / "scripts")
    for file in ROOT.glob("requirements*"):
        shutil.copy(file, folder)
    command = [str(shutil.which("bash")), "scripts/setup.sh", what]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


def fake_python(folder: Path, name: str, version: str) -> None:
    """Make a program that calls itself Python: it passes the check of a version from 3.11 to 3.13, and nothing else."""
    folder.mkdir(exist_ok=True)
    low, high = (0, 1) if version in ("3.11", "3.12", "3.13") else (1, 1)
    file = folder / name
    file.write_text(
        f'#!/bin/sh\ncase "$2" in *sys.exit*) exit {low};; *print*) echo python{version};; *) exit {high};; esac\n',
        encoding="utf-8",
    )
    file.chmod(0o755)


def tools(folder: Path) -> str:
    """Return a PATH with what the script needs besides Python."""
    folder.mkdir(exist_ok=True)
    for name in ("dirname", "cat", "sha256sum", "shasum", "cut", "uname"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    (folder / "id").write_text("#!/bin/sh\necho 1000\n", encoding="utf-8")
    (folder / "id").chmod(0o755)
    return str(folder)


@in_bash
def test_without_a_suitable_python_it_says_what_to_install(tmp_path):
    fake_python(tmp_path / "bin", "python3", "3.10")
    path = f"{tmp_path / 'bin'}:{tools(tmp_path / 'tools')}"
    done = setup(tmp_path, PATH=path)
    assert done.returncode == 1
    assert done.stdout.startswith("Python 3.11, 3.12 or 3.13 was not found.\nInstall one")
    named = setup(tmp_path, PATH=path, PYTHON="python3")
    assert named.stdout.startswith("Python 3.11, 3.12 or 3.13 was not found: python3 is none of them.")


INSTALLER = """#!/bin/sh
case "$*" in
    *'-m venv'*) mkdir -p .venv/bin && cp "$0" .venv/bin/python;;
    *'pip install'*) printf '%s\\t%s\\n' "$CMAKE_ARGS" "$*" >>installs
        case "$*" in *-cpu.lock*) exit "$ABSENT";; esac;;
    *'import cv2'*) exit 1;;
    *print*) echo python3.11;;
esac
"""


@pytest.mark.linux
@in_bash
@pytest.mark.parametrize(
    ("what", "lock", "cuda"),
    [("app", "requirements.lock", False), ("app", "requirements.lock", True), ("dev", "requirements-dev.lock", False)],
)
def test_it_installs_the_lock_by_its_hashes_and_nothing_else(tmp_path, what, lock, cuda):
    """Python is one that only notes what pip is asked for; there are no libraries for windows."""
    path = tools(tmp_path / "tools")
    for name in ("awk", "sed", "tr", "cp", "mkdir", "rm", "tail"):
        (tmp_path / "tools" / name).symlink_to(str(shutil.which(name)))
    for name in ("python3.11", "c++", "cc", "initdb", "chromium"):
        (tmp_path / "tools" / name).write_text(INSTALLER if name == "python3.11" else "#!/bin/sh\n", encoding="utf-8")
        (tmp_path / "tools" / name).chmod(0o755)
    done = setup(tmp_path, what, PATH=path, ABSENT=str(int(cuda)))
    assert done.returncode == 0, done.stdout + done.stderr
    noted = [line.split("\t") for line in (tmp_path / "installs").read_text(encoding="utf-8").splitlines()]
    locked, installed = entries(ROOT / lock), {}
    for _, line in noted:
        words = line.partition("pip install ")[2].split()
        if "--editable" in words:  # the program itself
            assert [word for word in words if not word.startswith("-")] == ["."]
            assert "--no-deps" in words
            continue
        assert "--require-hashes" in words
        files = [words[n + 1] for n, word in enumerate(words) if word == "-r"]
        named = [word for n, word in enumerate(words) if not word.startswith("-") and not words[n - 1].startswith("-")]
        assert (len(files), named) == (1, [])
        assert files[0] == "requirements-cpu.lock" or entries(tmp_path / files[0]).items() <= locked.items()
        installed |= entries(tmp_path / files[0])
    left_out = set() if cuda else {one for one in locked if CUDA.fullmatch(one.partition("==")[0])}
    assert installed.keys() - entries(ROOT / "requirements-cpu.lock").keys() == locked.keys() - left_out
    wanted = re.search(r'cmake\.args=([^"]+)"', text_of("requirements.txt"))
    assert wanted is not None
    compiled = [cmake.split() for cmake, line in noted if cmake]
    assert compiled == [[*wanted[1].split(";"), "-DGGML_NATIVE=ON"]]


# ------------------------------------------------------------ the container file

Step = tuple[str, str]


def stages() -> list[list[Step]]:
    """Return the instructions of each stage with their words."""
    text = re.sub(r"^#.*\n", "", text_of("Containerfile"), flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[Step]] = []
    for word, _, rest in (line.partition(" ") for line in text.splitlines() if line.strip()):
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest.strip()))
    return found


def of(stage: list[Step], word: str) -> list[str]:
    return [rest for name, rest in stage if name == word]


def variables(stage: list[Step]) -> dict[str, str]:
    return {name: value.strip('"') for name, _, value in (one.partition("=") for one in of(stage, "ENV"))}


def sources(stage: list[Step]) -> list[str]:
    """Return what is copied from the repository."""
    copied = [one.split() for one in of(stage, "COPY") if not one.startswith("--from")]
    return [source for words in copied for source in words[:-1]]


def test_the_container_is_built_of_the_locks_and_runs_without_rights_or_a_password():
    build, final = stages()
    assert int(of(final, "USER")[0]) > 0
    assert "PDFQA_PASSWORD" not in variables(final)
    installs = [run.partition(" install ")[2] for run in of(build, "RUN") if "/pip install " in run]
    assert [run for run in installs if "--require-hashes" not in run] == []
    assert installs[-1].endswith("--build-constraint requirements-build.lock -r requirements.lock")
    needed = text_of("packages.txt").split()
    assert [name for name in needed if name not in " ".join(of(build, "RUN") + of(final, "RUN"))] == []
    pinned = re.search(r'cmake\.args=([^"]+)"', text_of("requirements.txt"))
    assert pinned is not None
    assert variables(build)["CMAKE_ARGS"].split() == pinned[1].split(";")
    assert f"CMAKE_ARGS: {variables(build)['CMAKE_ARGS']}\n" in text_of(".github/workflows/test.yml")


@pytest.mark.linux
@pytest.mark.slow
def test_what_is_copied_is_enough_to_serve_answers_its_check_and_ends_when_told(tmp_path: Path):
    _, final = stages()
    app, data = tmp_path / "app", tmp_path / "data"
    app.mkdir()
    data.mkdir(mode=0o700)
    for source in sources(final):
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, app / source, ignore=shutil.ignore_patterns("__pycache__", "*.gguf"))
        else:
            shutil.copy(ROOT / source, app)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    passed = ("PDFQA_", "GRADIO_", "SPACE_", "PORT", "PYTHON")
    own = {n: v for n, v in os.environ.items() if n in ("PDFQA_MODEL", "PDFQA_ENCODERS") or not n.startswith(passed)}
    own |= {name: value.replace("/data", str(data)) for name, value in variables(final).items()}
    own |= {"PORT": port, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = json.loads(of(final, "CMD")[0])
    check = json.loads(of(final, "HEALTHCHECK")[0].partition("CMD ")[2])
    refused = subprocess.run(command, cwd=app, env=own, capture_output=True, text=True, check=False)
    assert (refused.returncode, "Set PDFQA_PASSWORD" in refused.stderr) == (2, True)
    process = subprocess.Popen(command, cwd=app, env=own | {"PDFQA_PASSWORD": "a long password"})
    try:
        deadline = time.monotonic() + 120
        while subprocess.run(check, env=own, capture_output=True, check=False).returncode:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.3)
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=60).json() == {"status": "ok"}
        assert (data / "workspace" / "pdfqa.sqlite").is_file()
        process.send_signal(getattr(signal, of(final, "STOPSIGNAL")[0]))
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.wait()


# ------------------------------------------------------------ what pip builds and installs


@pytest.mark.linux
def test_what_pip_builds_and_installs_works_from_any_folder(tmp_path: Path):
    tree, built = tmp_path / "tree", tmp_path / "built"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("docs/", "tests/", "benchmarks/")):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    pack = "import sys, setuptools.build_meta as made; made.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", pack, str(built)], cwd=tree, capture_output=True, check=True)
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    (archive,) = built.glob("pdfqa-*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-build-isolation"]
    packages = next((environment / "lib").glob("python*/site-packages"))
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")  # what it depends on
    subprocess.run([*pip, "--no-index", str(archive)], cwd=tmp_path, capture_output=True, check=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PDFQA_", "PYTHON"))}
    own |= {"XDG_DATA_HOME": str(tmp_path / "share"), "PDFQA_MODELS": str(tmp_path / "models")}

    def said(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    program = str(environment / "bin" / "pdfqa")
    sample = said(str(python), "-c", "from pdfqa_core.services.documents import sample_pdf; print(sample_pdf())")
    assert Path(sample).is_relative_to(environment)
    sources = [path.relative_to(tree) for path in (tree / "pdfqa_core").rglob("*") if path.is_file()]
    assert [path for path in sources if not (packages / path).is_file()] == []
    catalogues = {path.name for path in (packages / "pdfqa_core" / "packaged" / "models").iterdir()}
    assert catalogues == {"catalogue.toml", "encoders.toml"}
    said(program, "ingest", sample, "--retriever", "bm25")
    assert "every 15 minutes" in said(program, "search", "How often are the meters read?", "--retriever", "bm25")
    assert "qwen" in said(program, "models", "list", "--json").lower()
    assert (tmp_path / "share" / "pdfqa" / "pdfqa.sqlite").is_file()
    with subprocess.Popen([program, "serve", "--port", "0"], cwd=tmp_path, env=own, stdout=subprocess.PIPE) as served:
        try:
            address = re.search(rb"http://\S+", served.stdout.readline())
            assert address is not None
            page = httpx.get(address[0].decode(), timeout=60).text
        finally:
            served.terminate()
    assert served.returncode == 0
    assert "pq-shortcuts" in page  # of a template
    (found,) = metadata.distributions(name="pdfqa", path=[str(packages)])
    needed = [Requirement(line) for line in found.requires or ()]
    assert {canonicalize_name(one.name): str(one.specifier) for one in needed} == {
        name: f"=={version}" for name, version in pins("requirements.txt").items()
    }


# ------------------------------------------------------------ what pages name

PAGES = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))
FENCED = re.compile(r"```.*?```", re.DOTALL)
# Options of other programs: docker, pip, ray, llama_cpp.server.
FOREIGN = {
    "--init", "--dry-run", "--install", "--require-hashes", "--build-constraint", "--no-deps", "--force-reinstall",
    "--no-cache-dir", "--head", "--interrupt_requests", "--n_ctx",
}  # fmt: skip


def anchors(name: str) -> set[str]:
    """Return what a link can lead to in a page: its headings as GitHub writes them, and its own anchors."""
    text = text_of(name)
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)"', text))


def test_every_row_of_the_page_on_the_sources_has_a_command_and_a_test_that_is_there():
    page = (ROOT / "docs" / "sources.md").read_text("utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| what", "| ---"))]
    rows = runpy.run_path(str(ROOT / "scripts" / "sources.py"))["ROW"].findall(page)
    assert len(rows) == len(listed) > 40
    for what, _, command, test in rows:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), what
        assert command.startswith(("pdfqa ", "python scripts/")), what


def test_links_of_pages_lead_somewhere():
    broken = []
    for name in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", text_of(name))):
            file, _, anchor = link.partition("#")
            target = (ROOT / name).parent / file if file else ROOT / name
            if "://" in link:
                continue
            if not target.exists() or (anchor and anchor not in anchors(str(target.resolve().relative_to(ROOT)))):
                broken.append(f"{name}: {link}")
    assert broken == []


def options_of(command: argparse.ArgumentParser) -> set[str]:
    """Return the options of a command and of its parts."""
    parts = [one for one in command._actions if isinstance(one, argparse._SubParsersAction)]
    below = [options_of(part) for one in parts for part in one.choices.values()]
    return set().union(*(one.option_strings for one in command._actions), *below)


def test_options_and_scripts_that_pages_name_are_there():
    files = [path for part in ("benchmarks", "scripts") for path in ROOT.glob(f"{part}/*.py")]
    of_scripts = re.findall(r'"(--[a-z][\w-]*)"', "".join(path.read_text(encoding="utf-8") for path in files))
    there, missing = options_of(parser()).union(of_scripts, FOREIGN), []
    for name in PAGES:
        if name == "CHANGELOG.md":  # it names what there was
            continue
        text = text_of(name)
        options = re.findall(r"(?<![\w-])--[a-z][\w-]*", text)
        scripts = re.findall(r"\b((?:benchmarks|examples|scripts)/\w+\.(?:py|sh))", text)
        scripts += [f"benchmarks/{module}.py" for module in re.findall(r"-m benchmarks\.(\w+)", text)]
        missing += [f"{name}: {one}" for one in options if one not in there]
        missing += [f"{name}: {one}" for one in scripts if not (ROOT / one).is_file()]
    assert missing == []


def test_the_places_that_contributing_names_are_there():
    text = text_of("CONTRIBUTING.md").partition("## Where to look")[2].partition("\n## ")[0]
    files = set(re.findall(r"`(\w+(?:/\w+)*\.py)`", text))
    functions = re.findall(r"`(\w+)` in `([\w/]+\.py)`", text)
    assert len(files) > 20
    assert len(functions) > 4
    assert [file for file in files if not (ROOT / "pdfqa_core" / file).is_file()] == []
    missing = [
        name
        for name, file in functions
        if not re.search(rf"^ *def {name}\(", text_of(f"pdfqa_core/{file}"), re.MULTILINE)
    ]
    assert missing == []


SECTIONS = dict(re.findall(r"^### … (.+?)\n(.*?)(?=^##|\Z)", text_of("CONTRIBUTING.md"), re.DOTALL | re.MULTILINE))


@pytest.fixture
def run(monkeypatch):
    """Run the example of a section and return its names; what it registers is forgotten after the test."""
    for registry in (retrievers, chunkers, measures, file_readers):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))

    def names_of(section: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": __name__}
        (code,) = re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)
        exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), names)
        return names

    return names_of


def test_the_example_of_a_retriever_searches(run):
    run("retriever")
    texts = ("three words here", "one")
    passages = [Passage(text, (Span("d", 1, place, place + len(text)),), text) for place, text in enumerate(texts)]
    hits = retrievers.get("shortest")(Index.in_memory(passages, None)).search("words", 1)
    assert [hit.passage.text for hit in hits] == ["one"]


def test_the_example_of_a_chunker_makes_passages(run, make_page):
    run("chunker")
    assert [p.text for p in chunkers.get("halves")().chunk([make_page("Seals sleep on quays.")])] == [
        "Seals sleep", "on quays.",
    ]  # fmt: skip


def test_the_example_of_a_metric_scores(run):
    assert run("metric")["length_ratio"]("two words", ["one"]) == 2
    assert measures.get("length_ratio").inputs == ("prediction", "references")


def test_the_example_of_a_gold_reader_reads(run, tmp_path):
    run("gold reader")
    (tmp_path / "mine.txt").write_text("Why?\n")
    assert [question.question for question in read_gold(tmp_path / "mine.txt").questions] == ["Why?"]


def test_the_example_of_a_criterion_has_labels(run):
    assert run("criterion")["FLUENCY"].label("3") == "good"


def test_the_example_of_a_tab_is_shown(run, tmp_path, monkeypatch):
    monkeypatch.setitem(ui.TABS, "Hello", SimpleNamespace(build=run("tab")["build"]))
    with Services.open(tmp_path, BM25, FakeModels()) as services:
        page = ui.build_page(services)
    assert "Hello" in [getattr(block, "label", "") for block in page.blocks.values()]


@pytest.mark.parametrize("section", SECTIONS)
def test_three_files_are_enough_and_all_but_the_new_ones_are_there(section):
    files = [ROOT / name for name in re.findall(r"^\d\. `([\w./]+)`", SECTIONS[section], re.MULTILINE)]
    assert 1 <= len(files) <= 3
    assert all(file.parent.is_dir() for file in files)
    assert all(file.is_file() for file in files[1:] if file.suffix != ".html")


def test_the_tests_that_hold_the_promises_of_the_page_on_safety_are_there():
    text = text_of("docs/security.md")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 20
    missing = [
        f"{file}::{test}" for file, test in named
        if not re.search(rf"^(?:async )?def {test}\(", text_of(file), re.MULTILINE)
    ]  # fmt: skip
    assert missing == []
