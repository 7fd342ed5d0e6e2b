"""What all commands share: help, exit status, errors as JSON."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from pdfqa_core import __version__
from pdfqa_core.cli import COMMANDS, main
from pdfqa_core.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
NAMES = tuple(command.__name__.rpartition(".")[2] for command in COMMANDS)
SECTIONS = {
    "serve": ("server", "llm"),
    "ingest": ("extraction", "chunking", "retrieval"),
    "extract": ("extraction",),
    "evaluate retrieval": ("extraction", "chunking", "retrieval", "conversation"),
    "search": ("chunking", "retrieval"),
    "ask": ("chunking", "retrieval", "reading", "conversation", "llm"),
    "chat": ("chunking", "retrieval", "reading", "conversation", "llm"),
}


def help_of(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--help"])
    assert end.value.code == 0
    return " ".join(capsys.readouterr().out.split())


NESTED = (
    "accounts add", "accounts list", "evaluate retrieval", "evaluate answers", "models list", "models download",
    "models add", "models remove", "tokens add", "tokens list", "tokens remove", "study results", "study agreement",
    "study measures", "study export", "study import", "study add-ratings",
)  # fmt: skip


def test_the_help_names_every_command_and_their_options_with_their_defaults(capsys):
    whole = help_of(capsys)
    assert all(re.search(rf"\b{name}\b", whole) for name in NAMES)
    assert "0 done, 1 the task failed, 2 wrong usage" in whole
    for name in (*NAMES, *NESTED):
        if any(one.startswith(f"{name} ") for one in NESTED):
            continue
        text = help_of(capsys, *name.split())
        assert "--workspace DIR" in text, name
        assert "--json" in text, name
        for section in SECTIONS.get(name, ()):
            for field, info in Settings.model_fields[section].annotation.model_fields.items():
                default = "none" if info.default in ("", None) else info.default
                assert re.search(rf"--(no-)?{field.replace('_', '-')}\b", text), field
                assert f"(default: {default})" in text, field


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"pdfqa {__version__}\n"


WRONG = (
    (["search"], "required: QUESTION"),
    (["search", "x", "--colour", "red"], "Unrecognized arguments: --colour red"),
    (["search", "x", "--k", "many"], "invalid int value: 'many'"),
    (["search", "x", "-k", "0"], "retrieval.k"),
    (["search", "x", "--unit", "letters"], "invalid choice: 'letters'"),
    (["search", "x", "--step", "500"], "step (500) is above size (120)"),
    (["search", "x", "--retriever", "magic"], "There is no retriever called 'magic'."),
    (["search", "x", "--chunker", "magic"], "There is no chunker called 'magic'."),
    (["search", "x", "--document", "other.pdf"], "There is no document 'other.pdf'."),
    (["search", " ", "--retriever", "bm25"], "The question is empty."),
    (["ask", "x", "--reader", "magic"], "There is no reader called 'magic'."),
    (["ask", "x", "--rewriter", "magic"], "There is no rewriter called 'magic'."),
    (["ask", "x", "--engine", "magic"], "There is no engine called 'magic'."),
    (["ask", "x", "--retriever", "bm25", "--conversation", "none"], "There is no such conversation here."),
    (["chat", "--conversation", "none"], "There is no such conversation here."),
    (["ingest"], "required: PDF"),
    (["ingest", "/no/such/file.pdf"], "There is no such file: /no/such/file.pdf."),
    (["agreement", "/no/such/file.csv"], "/no/such/file.csv cannot be read"),
    (["export", "everything"], "invalid choice: 'everything'"),
    (["export", "ratings"], "It is not clear which study is meant."),
    (["export", "ratings", "--study", "other"], "There is no study 'other'."),
    (["export", "conversations", "--format", "csv"], "Conversations have no csv form."),
    (["export", "ratings", "--format", "markdown"], "Ratings have no markdown form."),
    (["paint"], "invalid choice: 'paint'"),
    ([], "required: COMMAND"),
)


def test_wrong_usage_is_status_2_with_what_and_hint(workspace, run):
    for arguments, words in WRONG:
        failed = run(*arguments, "--json")
        assert failed.status == 2, arguments
        assert set(failed.data) == {"error"}
        assert set(failed.data["error"]) == {"what", "hint"}
        assert words in failed.data["error"]["what"]
        assert failed.data["error"]["hint"]
    plain = run(*WRONG[0][0])
    assert (plain.status, plain.out) == (2, "")
    assert WRONG[0][1] in plain.err


def test_a_task_that_fails_is_status_1(empty, run):
    failed = run("search", "x", "--retriever", "bm25", "--json")
    assert failed.status == 1
    assert failed.data["error"]["what"] == "There are no documents to ask about."
    plain = run("ask", "x")
    assert (plain.status, plain.out) == (1, "")
    assert plain.err.startswith("pdfqa: There are no documents to ask about.\n       Add PDFs")


def test_a_workspace_can_be_named(workspace, run, tmp_path):
    assert run("search", "meters", "--retriever", "bm25", "--workspace", tmp_path / "other").status == 1
    assert run("search", "meters", "--retriever", "bm25", "--workspace", workspace).status == 0


def test_the_settings_file_of_the_workspace_counts_and_options_beat_it(workspace, run):
    (workspace / "pdfqa.toml").write_text('[retrieval]\nretriever = "bm25"\nk = 3\n')
    assert len(run("search", "meters heat", "--json").data["hits"]) == 3
    assert len(run("search", "meters heat", "-k", "2", "--json").data["hits"]) == 2


def test_what_the_terminal_cannot_show_does_not_stop_a_command():
    """Windows gives pipes an old code page; an ASCII one stands for it here."""
    done = subprocess.run(
        [sys.executable, "-m", "pdfqa_core", "search", "Δ – 日本", "--no-such-Δ", "--json"], check=False, cwd=ROOT,
        capture_output=True, timeout=60, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 2
    assert "--no-such-?" in json.loads(done.stdout.decode("ascii"))["error"]["what"]


def test_searching_imports_neither_torch_nor_gradio(workspace):
    code = (
        "import sys; from pdfqa_core.cli import main; status = main(['search', 'meters', '--retriever', 'bm25']); "
        "heavy = {'torch', 'transformers', 'gradio', 'scipy', 'sklearn', 'pandas', 'llama_cpp'}; "
        "print(*sorted(heavy & set(sys.modules)), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert done.stdout.startswith("1. harbour-heat.pdf")


def test_the_app_takes_the_options_of_serve(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["app.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
    assert ended.value.code == 0
    assert "--port" in capsys.readouterr().out
