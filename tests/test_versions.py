"""Versions: the floors that safety asks for, exact pins, and a Space that runs what is pinned."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent

FLOORS = {
    "gradio": "6.31",
    "pdfplumber": "0.11.10",
    "pdfminer.six": "20260107",
    "llama-cpp-python": "0.3.36",
    "jinja2": "3.1.6",
    "hnswlib": "0.8.0",
    "torch": "2.10",
    "starlette": "0.49.1",
    "python-multipart": "0.0.27",
}


def requirements(name: str) -> dict[str, Requirement]:
    """Return the requirements of a file by name; pip's options (after a space and --) are left out."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    wanted = [line.split(" --")[0].strip() for line in lines if line.strip() and not line.startswith(("#", "-r"))]
    return {found.name.lower(): found for found in map(Requirement, wanted)}


def front_matter() -> dict[str, str]:
    """Return the fields that head README.md, which a Hugging Face Space reads; quotes are taken off."""
    head = re.match(r"---\n(.+?)\n---\n", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert head, "README.md has no front matter"
    fields = (line.partition(":") for line in head[1].splitlines())
    return {name.strip(): value.strip().strip("\"'") for name, _, value in fields}


@pytest.mark.parametrize("name", FLOORS)
def test_the_installed_version_is_not_below_the_floor(name):
    installed = Version(importlib.metadata.version(name))
    assert installed >= Version(FLOORS[name]), f"{name} {installed} is installed; at least {FLOORS[name]} is needed"


FILES = ["requirements.txt", "requirements-dev.txt", "requirements-lance.txt", "requirements-cluster.txt"]


@pytest.mark.parametrize("file", FILES)
def test_every_requirement_is_pinned(file):
    found = requirements(file)
    assert found
    loose = [str(wanted) for wanted in found.values() if not re.fullmatch(r"==[^*,]+", str(wanted.specifier))]
    assert loose == []


def test_no_pin_is_below_its_floor():
    pins = {name: Version(str(wanted.specifier)[2:]) for name, wanted in requirements("requirements.txt").items()}
    assert {"gradio", "torch", "pdfplumber", "llama-cpp-python", "hnswlib"} <= set(pins)
    assert [name for name in FLOORS if name in pins and pins[name] < Version(FLOORS[name])] == []


def test_both_opencv_packages_are_one_version_because_they_share_their_files():
    found = requirements("requirements.txt")
    assert str(found["opencv-python"].specifier) == str(found["opencv-python-headless"].specifier)
    assert importlib.metadata.version("opencv-python") == importlib.metadata.version("opencv-python-headless")


def test_torch_stays_where_it_needs_no_cuda_packages():
    assert str(requirements("requirements.txt")["torch"].specifier) == "==2.13.0"


@pytest.mark.skipif(not (ROOT / "README.md").is_file(), reason="no README.md in this checkout")
def test_the_space_runs_what_is_pinned():
    fields = front_matter()
    assert fields["sdk"] == "gradio"
    assert f"=={fields['sdk_version']}" == str(requirements("requirements.txt")["gradio"].specifier)
    assert fields["python_version"] == "3.11"
    assert fields["license"] == "apache-2.0"
    assert (ROOT / fields["app_file"]).name == "app.py"
    assert (ROOT / fields["app_file"]).is_file()
    assert len(fields["short_description"]) < 60
