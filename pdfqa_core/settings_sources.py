"""Where settings come from, and where workspace and models lie: files, and environment variables.

Later ones win: the defaults of `settings`, `pdfqa.toml` in the workspace, what was chosen on the Models tab,
environment variables, the command line or the page.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.settings import LLMSettings, Settings, load

CHOICES = "models.json"  # in the workspace: what was chosen on the Models tab
WHICH_MODEL = ("engine", "model", "url")  # settings that the environment can overrule only together


def read_choices(workspace: Path) -> dict[str, Any]:
    """Return what was chosen on the Models tab (`models.json` in the workspace).

    "llm": settings of the language model, "added": files, "retrieval": the encoder. Raises UsageError if it is damaged.
    """
    file = workspace / CHOICES
    try:
        data = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (ValueError, OSError) as error:
        raise UsageError(f"{file} cannot be read: {error}.", "Remove it; models are chosen anew then.") from error
    if not isinstance(data, dict) or not all(isinstance(data.get(name, {}), dict) for name in ("llm", "retrieval")):
        raise UsageError(f"{file} does not hold choices of models.", "Remove it; models are chosen anew then.")
    return data


def read_settings(workspace: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a workspace: its `pdfqa.toml`, what was chosen on the Models tab, then the environment.

    Environment: PDFQA_LLM_URL, PDFQA_MODEL, PDFQA_DEMO, GRADIO_SERVER_NAME, GRADIO_SERVER_PORT, PORT, PDFQA_HOSTS, and
    SPACE_ID and SPACE_HOST (set on Hugging Face Spaces: demo mode, all interfaces, behind a proxy).
    """
    environ = os.environ if environ is None else environ
    data = _toml(workspace / "pdfqa.toml")
    load(data)  # so that an error in the file is reported even if the environment overrules it
    named = bool(environ.get("PDFQA_MODEL") or environ.get("PDFQA_LLM_URL"))
    for name, value in read_choices(workspace).get("llm", {}).items():
        if not (named and name in WHICH_MODEL):
            data.setdefault("llm", {})[name] = value
    if (encoder := read_choices(workspace).get("retrieval", {}).get("embedding_model")) is not None:
        data.setdefault("retrieval", {})["embedding_model"] = encoder
    load(data)
    for section, name, value in _named(environ):
        data.setdefault(section, {})[name] = value
    return load(data)


def _toml(file: Path) -> dict[str, dict[str, Any]]:
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}.", "Correct the file or remove it.") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Check its permissions.") from error


def _named(environ: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """Yield section, name and value of each setting that the environment gives."""
    if environ.get("SPACE_ID"):
        yield "server", "demo", True
        yield "server", "host", "0.0.0.0"  # noqa: S104 - a Space is reached through its proxy
        yield "server", "proxied", True
    names = [environ[name] for name in ("PDFQA_HOSTS", "SPACE_HOST") if environ.get(name)]
    if names:
        yield "server", "hosts", ",".join(names)
    if environ.get("PDFQA_DEMO"):
        yield "server", "demo", environ["PDFQA_DEMO"].lower() not in ("0", "false", "no", "off")
    if environ.get("PDFQA_MODEL"):
        yield "llm", "model", environ["PDFQA_MODEL"]
    if environ.get("PDFQA_LLM_URL"):
        yield "llm", "engine", "openai"
        yield "llm", "url", environ["PDFQA_LLM_URL"]
    if environ.get("GRADIO_SERVER_NAME"):
        yield "server", "host", environ["GRADIO_SERVER_NAME"]
    if port := environ.get("GRADIO_SERVER_PORT") or environ.get("PORT"):
        yield "server", "port", port


def workspace_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the workspace lies: PDFQA_WORKSPACE; on a Space `/data` where it is writable; else `data/`."""
    environ = os.environ if environ is None else environ
    if environ.get("PDFQA_WORKSPACE"):
        return Path(environ["PDFQA_WORKSPACE"]).expanduser().resolve()
    if environ.get("SPACE_ID") and os.access("/data", os.W_OK):
        return Path("/data")
    return Path(__file__).resolve().parent.parent / "data" / "workspace"


def models_path(llm: LLMSettings, environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of model files, which all workspaces of a user share.

    PDFQA_MODELS; what the settings name; on a Space `/data/models` where that is writable; else `pdfqa/models` of the
    user's cache ($XDG_CACHE_HOME, ~/.cache).
    """
    environ = os.environ if environ is None else environ
    if named := environ.get("PDFQA_MODELS") or llm.models_folder:
        return Path(named).expanduser().absolute()
    if environ.get("SPACE_ID") and os.access("/data", os.W_OK):
        return Path("/data/models")
    return Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pdfqa" / "models"
