#!/usr/bin/env bash
# Writes the three locks from their .txt files: every package with all it needs, at one version for all systems, with the
# hashes of the package index. A version stays while it fits; delete a lock first to take the newest.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${PYTHON:-python3}" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install -qq --disable-pip-version-check uv==0.13.9
cp requirements*.txt requirements*.lock "$work"
# A lock holds no settings of a build; setup.sh and Containerfile say them to the compiler in CMAKE_ARGS.
sed 's/ --config-settings=.*//' requirements.txt >"$work/requirements.txt"
cd "$work"
compile() {
    tools/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --custom-compile-command "make lock" "$@"
}
compile requirements.txt --output-file requirements.lock
# What the tests run with, and what the packages are built with, is what the app runs with.
compile requirements-dev.txt --output-file requirements-dev.lock --constraints requirements.lock
compile requirements-build.txt --output-file requirements-build.lock --constraints requirements.lock
cp requirements.lock requirements-dev.lock requirements-build.lock "$root"
