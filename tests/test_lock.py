"""requirements.lock holds what requirements.txt asks for, each package at one version and with its hashes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in PIN.findall(text)}


def test_the_lock_has_every_requirement_at_its_version():
    wanted, locked = pins("requirements.txt"), pins("requirements.lock")
    assert len(wanted) > 30
    assert {package: locked.get(package) for package in wanted} == wanted
    assert len(locked) > len(wanted)


def test_every_package_of_the_lock_has_a_hash_and_comes_from_the_index():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    assert len(entries) == len(PIN.findall(text))
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"https?://|file:|^-", text, re.MULTILINE)
