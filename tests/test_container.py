"""The container file and the Space: their steps are carried out as far as that goes without a container engine."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import httpx
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 120  # seconds
SPACE_EXTRAS = ("", "oauth", "mcp")
SPACE_INSTALLS = [
    "-r", "requirements.txt", f"gradio[oauth,mcp]=={metadata.version('gradio')}", "uvicorn>=0.14.0", "websockets>=10.4",
    "spaces",
]  # fmt: skip
Step = tuple[str, str]


def steps() -> list[Step]:
    """Return the instructions of the container file with their words."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def stages() -> list[list[Step]]:
    found: list[list[Step]] = []
    for step in steps():
        if step[0] == "FROM":
            found.append([])
        found[-1].append(step)
    return found


def of(stage: list[Step], word: str) -> list[str]:
    return [rest for name, rest in stage if name == word]


def variables(stage: list[Step]) -> dict[str, str]:
    return {name: value.strip('"') for name, _, value in (one.partition("=") for one in of(stage, "ENV"))}


def sources(stage: list[Step]) -> list[str]:
    """Return what is copied from the repository."""
    copied = [one.split() for one in of(stage, "COPY") if not one.startswith("--from")]
    return [source for words in copied for source in words[:-1]]


def ignored(path: str) -> bool:
    """Whether the ignore file keeps a file out; its last pattern that fits counts."""
    out = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pattern = line.removeprefix("!")
        parents = ["/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 2)]
        names = [path.rsplit("/", 1)[-1], *path.split("/")]
        short = pattern.removeprefix("**/")
        if any(fnmatch.fnmatch(one, pattern) for one in parents if one.count("/") == pattern.count("/")) or (
            short != pattern and any(fnmatch.fnmatch(name, short) for name in names)
        ):
            out = not line.startswith("!")
    return out


def tracked() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return listed.split("\n")[:-1]


def copy(folder: Path, wanted: list[str]) -> None:
    for name in wanted:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def test_it_is_built_in_two_stages_of_one_python_and_runs_without_rights():
    build, final = stages()
    assert of(build, "FROM")[0].split()[0] == of(final, "FROM")[0] == "python:3.11-slim-bookworm"
    (user,) = of(final, "USER")
    assert (int(user) > 0, f"--uid {user} " in " ".join(of(final, "RUN"))) == (True, True)
    assert final.index(("USER", user)) > max(n for n, step in enumerate(final) if step[0] == "RUN")
    assert of(final, "VOLUME") == ["/data"]
    values = variables(final)
    assert all(values[name].startswith("/data") for name in ("HOME", "PDFQA_WORKSPACE", "PDFQA_MODELS"))
    assert "PDFQA_PASSWORD" not in values  # none is shipped
    installs = [run.partition(" install ")[2] for run in of(build, "RUN") if "/pip install " in run]
    assert [run for run in installs if "--require-hashes" not in run] == []
    assert installs[-1].endswith("--build-constraint requirements-build.lock -r requirements.lock")


def test_it_installs_what_the_program_and_the_space_need():
    build, final = stages()
    needed = (ROOT / "packages.txt").read_text(encoding="utf-8").split()
    assert [name for name in needed if name not in " ".join(of(build, "RUN") + of(final, "RUN"))] == []
    pinned = re.search(r'cmake\.args=([^"]+)"', (ROOT / "requirements.txt").read_text(encoding="utf-8"))
    assert pinned is not None
    assert variables(build)["CMAKE_ARGS"].split() == pinned[1].split(";")
    workflow = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    assert f"CMAKE_ARGS: {variables(build)['CMAKE_ARGS']}\n" in workflow


def test_nothing_but_the_program_goes_in():
    build, final = stages()
    kept = [name for name in tracked() if not ignored(name)]
    for source in (*sources(build), *sources(final)):
        assert any(name == source or name.startswith(f"{source}/") for name in kept), source
    program = [name for name in tracked() if name.startswith(("pdfqa_core/", "data/sample/"))]
    assert [name for name in program if ignored(name)] == []
    for private in ("data/workspace/pdfqa.sqlite", "models/mine.gguf", ".venv/bin/python", ".git/config", ".env",
                    "pdfqa_core/__pycache__/x.pyc", "tests/conftest.py"):  # fmt: skip
        assert ignored(private), private


@contextmanager
def started(folder: Path, command: list[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    passed = ("PDFQA_", "GRADIO_", "SPACE_", "PORT", "PYTHON")
    own = {name: value for name, value in os.environ.items() if not name.startswith(passed)}
    models = {name: os.environ[name] for name in ("PDFQA_MODEL", "PDFQA_ENCODERS") if name in os.environ}
    process = subprocess.Popen(
        command, cwd=folder, env={**own, **models, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def answers(port: str, process: subprocess.Popen[str], path: str = "/healthz", **headers: str) -> httpx.Response:
    deadline = time.monotonic() + TIMEOUT
    while True:
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        try:
            return httpx.get(f"http://127.0.0.1:{port}{path}", headers=headers, timeout=TIMEOUT)
        except httpx.ConnectError:
            assert time.monotonic() < deadline
            time.sleep(0.3)


@pytest.mark.linux
def test_what_is_copied_is_enough_to_serve_answers_its_check_and_ends_when_told(tmp_path: Path):
    _, final = stages()
    app, data, port = tmp_path / "app", tmp_path / "data", free_port()
    copy(app, [n for n in tracked() if not ignored(n) and n.startswith(tuple(sources(final)))])
    data.mkdir(mode=0o700)
    values = {name: value.replace("/data", str(data)) for name, value in variables(final).items()}
    values |= {"PORT": port, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = json.loads(of(final, "CMD")[0])
    check = json.loads(of(final, "HEALTHCHECK")[0].partition("CMD ")[2])
    refused = subprocess.run(
        command, cwd=app, env={**os.environ, **values}, capture_output=True, text=True, check=False
    )
    assert (refused.returncode, "Set PDFQA_PASSWORD" in refused.stderr) == (2, True)
    with started(app, command, **values, PDFQA_PASSWORD="a long password") as process:
        assert answers(port, process).json() == {"status": "ok"}
        healthy = subprocess.run(check, env={**os.environ, **values}, capture_output=True, check=False)
        assert healthy.returncode == 0
        assert (data / "workspace" / "pdfqa.sqlite").is_file()
        process.send_signal(getattr(signal, of(final, "STOPSIGNAL")[0]))
        assert process.wait(timeout=TIMEOUT) == 0
    assert subprocess.run(check, env={**os.environ, **values}, capture_output=True, check=False).returncode != 0
    assert {path.name for path in app.iterdir()} == {"app.py", "LICENSE", "README.md", "pyproject.toml", "pdfqa_core",
                                                     "models", "data"}  # fmt: skip


# ------------------------------------------------------------ the Space


def test_the_front_matter_of_the_space_fits_the_requirements():
    _, front, _ = (ROOT / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    told = yaml.safe_load(front)
    assert (told["sdk"], told["app_file"], told["python_version"]) == ("gradio", "app.py", "3.11")
    assert f"gradio=={told['sdk_version']}\n" in (ROOT / "requirements.txt").read_text(encoding="utf-8")


@pytest.mark.linux
def test_as_a_space_it_is_a_demo_under_the_spaces_name_alone(tmp_path: Path):
    app, port = tmp_path / "app", free_port()
    copy(app, [n for n in tracked() if n.startswith(("pdfqa_core/", "data/sample", "models/")) or n == "app.py"])
    space = {"SPACE_ID": "someone/pdfqa", "SPACE_HOST": "someone-pdfqa.hf.space", "PORT": port}
    with started(app, [sys.executable, "app.py"], **space, PDFQA_WORKSPACE=str(tmp_path / "data")) as process:
        assert answers(port, process, Host="someone-pdfqa.hf.space").status_code == 200
        assert answers(port, process, Host="other.hf.space").status_code == 403
        config = answers(port, process, "/config", Host="someone-pdfqa.hf.space").json()
        assert config["title"] == "PDFQA"
        call = f"http://127.0.0.1:{port}/gradio_api/call/v2/list_documents"
        begun = httpx.post(call, json={}, timeout=TIMEOUT).json()["event_id"]
        assert "This needs a token" in httpx.get(f"{call}/{begun}", timeout=TIMEOUT).text  # nobody is the owner
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=TIMEOUT) == 0


def test_the_pins_fit_what_a_space_installs_in_the_same_step():
    """A Space asks for gradio[oauth,mcp] too: a pin that one of these does not allow ends the build."""
    pins = dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M))
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    checked = []
    for line in metadata.distribution("gradio").requires or ():
        needed = Requirement(line)
        name = canonicalize_name(needed.name)
        if name in pins and any(
            needed.marker is None or needed.marker.evaluate({"extra": one}) for one in SPACE_EXTRAS
        ):
            assert needed.specifier.contains(pins[name]), f"{line}, but {pins[name]} is pinned"
            checked.append(name)
    assert {"mcp", "pydantic", "starlette"} <= set(checked)


@pytest.mark.slow
@pytest.mark.parametrize("options", [SPACE_INSTALLS, ["--require-hashes", "-r", "requirements.lock"]])
def test_the_requirements_can_be_had_from_nothing(tmp_path: Path, options: list[str]):
    """What a Space and the container do first; nothing is installed, and llama-cpp-python is not compiled."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [str(tmp_path / "venv" / "bin" / "pip"), "install", "--dry-run", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *options], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
