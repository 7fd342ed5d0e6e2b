"""Which interpreter scripts/setup.sh takes, what it says where there is none, and what it installs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.test_lock import CUDA, entries

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="make runs it in bash")


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


def test_without_a_suitable_python_it_says_what_to_install(tmp_path):
    fake_python(tmp_path / "bin", "python3", "3.10")
    path = f"{tmp_path / 'bin'}:{tools(tmp_path / 'tools')}"
    done = setup(tmp_path, PATH=path)
    assert done.returncode == 1
    assert done.stdout.startswith("Python 3.11, 3.12 or 3.13 was not found.\nInstall one")
    named = setup(tmp_path, PATH=path, PYTHON="python3")
    assert named.stdout.startswith("Python 3.11, 3.12 or 3.13 was not found: python3 is none of them.")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_packages_that_are_missing_are_those_of_the_python_that_is_there(tmp_path, version):
    fake_python(tmp_path / "bin", f"python{version}", version)
    done = setup(tmp_path, PATH=f"{tmp_path / 'bin'}:{tools(tmp_path / 'tools')}")
    assert done.returncode == 1
    if os.uname().sysname == "Darwin":
        assert "xcode-select --install" in done.stdout
    else:
        assert f"sudo apt install build-essential python{version}-venv python{version}-dev" in done.stdout


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
@pytest.mark.parametrize("cuda", [False, True])
@pytest.mark.parametrize(("what", "lock"), [("app", "requirements.lock"), ("dev", "requirements-dev.lock")])
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
    wanted = re.search(r'cmake\.args=([^"]+)"', (ROOT / "requirements.txt").read_text(encoding="utf-8"))
    assert wanted is not None
    compiled = [cmake.split() for cmake, line in noted if cmake]
    assert compiled == [[*wanted[1].split(";"), "-DGGML_NATIVE=ON"]]


def test_the_workflow_runs_the_tests_on_three_systems_and_leaves_out_only_what_is_marked():
    workflow = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    pytest_options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"][
        "ini_options"
    ]
    known = {one.partition(":")[0] for one in pytest_options["markers"]}
    left_out = re.search(r'pytest -m "([^"]+)"', workflow)
    assert left_out is not None
    assert {one.removeprefix("not ") for one in left_out[1].split(" and ")} == known - {
        "model",
        "sqlite_only",
        "thorough",
    }
    for system in ("ubuntu-latest", "windows-latest", "macos-latest"):
        assert system in workflow


def test_the_script_and_the_project_name_the_same_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if "Python :: 3" in one]
    assert (project["requires-python"], named) == (">=3.11,<3.14", ["3.11", "3.12", "3.13"])
    assert "for python in python3.11 python3.12 python3.13 " in (ROOT / "scripts/setup.sh").read_text(encoding="utf-8")
