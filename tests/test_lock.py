"""The locks hold what the requirements ask for, each package at one version and with its hashes."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
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
    text = (ROOT / name).read_text(encoding="utf-8")
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in PIN.findall(text)}


def entries(lock: Path) -> dict[str, str]:
    """Return the hashes of a lock by the requirement that they are of, with its marker."""
    text = re.sub(r"^\s*#.*\n", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    parts = (entry.partition(" \\\n") for entry in re.split(r"\n(?=[A-Za-z0-9])", text.strip()))
    return {requirement: hashes for requirement, _, hashes in parts}


def test_the_lock_has_every_requirement_at_its_version():
    wanted, locked = pins("requirements.txt"), pins("requirements.lock")
    assert len(wanted) > 30
    assert {package: locked.get(package) for package in wanted} == wanted
    assert len(locked) > len(wanted)


@pytest.mark.parametrize(("lock", "files"), [("dev", DEV), ("build", ["requirements-build.txt"])])
def test_its_companions_have_every_requirement_at_its_version(lock: str, files: list[str]):
    wanted, locked = {}, pins(f"requirements-{lock}.lock")
    for file in files:
        wanted |= pins(file)
    assert len(wanted) > 4
    assert {package: locked.get(package) for package in wanted} == wanted


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
    text, found = (ROOT / name).read_text(encoding="utf-8"), entries(ROOT / name)
    assert len(found) == len(PIN.findall(text)) > 0
    assert [requirement for requirement, hashes in found.items() if "--hash=sha256:" not in hashes] == []
    assert not re.search(r"https?://|file:|^-", text, re.MULTILINE)


def test_only_torch_asks_for_cuda():
    """What setup.sh leaves out where torch comes without CUDA is missed by nothing else."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = [block for block in re.split(r"\n(?=[A-Za-z0-9])", text) if CUDA.fullmatch(block.partition("==")[0])]
    assert len(blocks) > 10
    asking = {name for block in blocks for name in re.findall(r"#(?: via|  ) (\S+)", block)}
    assert {name for name in asking if not CUDA.fullmatch(name)} == {"torch"}


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


@pytest.mark.parametrize("package", FLOORS)
def test_what_an_advisory_was_about_is_locked_at_a_version_that_mends_it(package: str):
    assert Version(pins("requirements.lock")[package]) >= Version(FLOORS[package])


def test_what_has_no_mended_version_is_not_used():
    modules = [*(ROOT / "pdfqa_core").rglob("*.py")]
    assert len(modules) > 300
    used = {f"{path.name}: {found[0]}" for path in modules if (found := NEVER.search(path.read_text(encoding="utf-8")))}
    assert used == set()


def test_all_that_comes_with_the_requirements_is_locked():
    """Follow what the installed packages ask for, from requirements.txt on."""
    locked, left, seen = pins("requirements.lock"), [(name, "") for name in pins("requirements.txt")], set()
    while left:
        name, extra = left.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for line in metadata.distribution(name).requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                left += [(canonicalize_name(needed.name), one) for one in ("", *needed.extras)]
    assert len(seen) > 60
    assert sorted({name for name, _ in seen} - locked.keys()) == []
