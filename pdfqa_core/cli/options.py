"""Options that commands share. Settings become options of the same name, with their defaults and descriptions."""

from __future__ import annotations

import argparse
import os
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Union, get_args, get_origin

from pdfqa_core.errors import UsageError
from pdfqa_core.services import LOCAL_OWNER, Services, recipes
from pdfqa_core.settings import Looks, Settings, SettingsGroup, load, read_settings, workspace_path
from pdfqa_core.whole_files import cannot_write, unfinished

# ----------------------------------------------------------------------------------------------------
# Files that commands write: whole or not at all. Those of the workspace are the user's alone.

ALONE = 0o077  # what the group and everybody else may not do


@dataclass(frozen=True, slots=True)
class _Usual:
    """What the user's own umask takes away, and where it does not hold."""

    umask: int
    private: Path


_usual: list[_Usual] = []


@contextmanager
def private_files(workspace: Path) -> Iterator[None]:
    """Have everything that is made within the block be the user's alone: files 0600, folders 0700.

    But for what `write_file` writes elsewhere than in the workspace.
    """
    _usual.append(_Usual(os.umask(ALONE), workspace.resolve()))
    try:
        yield
    finally:
        os.umask(_usual.pop().umask)


def write_file(path: Path, data: bytes) -> None:
    """Write a file, its folder too: whole or not at all.

    Outside of the workspace the user's umask says who may read it. Raises UsageError for a folder, StorageError
    where the file cannot be written.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", "Name a file.")
    new = [one for one in path.parents if not one.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(path) as draft:
            draft.write_bytes(data)
        if _usual and not path.resolve().is_relative_to(_usual[-1].private):
            path.chmod(0o666 & ~_usual[-1].umask)
            for folder in new:
                folder.chmod(0o777 & ~_usual[-1].umask)
    except OSError as error:
        raise cannot_write(path, error, "It is not there, or as it was before.", "Choose another place.") from error


# ----------------------------------------------------------------------------------------------------
# Options that commands share. Settings become options of the same name, with their defaults and descriptions.


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add --workspace and --json."""
    parser.add_argument("--workspace", metavar="DIR", type=Path, help="folder with the database, PDFs and indexes")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def add_questions(parser: argparse.ArgumentParser, *, conversation: bool = False) -> None:
    """Add --document and --collection and, for answers, --conversation."""
    parser.add_argument(
        "--document", action="append", default=[], metavar="NAME", help="only in this file (repeatable)"
    )
    parser.add_argument(
        "--collection",
        action="append",
        default=[],
        metavar="NAME",
        help="only in the documents of this collection (repeatable; see: pdfqa collections)",
    )
    if conversation:
        parser.add_argument("--conversation", default="", metavar="ID", help="go on in this conversation")


def scope_of(services: Services, arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the documents and collections that the call names. Raises UsageError for an unknown one."""
    documents = services.documents.document_ids(LOCAL_OWNER, arguments.document)
    return (*documents, *services.documents.collections.ids(LOCAL_OWNER, arguments.collection))


def add_settings(parser: argparse.ArgumentParser, *sections: str) -> None:
    """Add one option for every setting of the sections (`chunking`: --chunker, --unit, …)."""
    looks = {(section, name): look for section, name, look in Settings().looks()}
    # Names that mean a choice in one section and a switch in another: the plain option is the choice's.
    chosen = {name for section, name in looks if not isinstance(getattr(getattr(Settings(), section), name), bool)}
    for section in sections:
        model: type[SettingsGroup] = Settings.model_fields[section].annotation  # type: ignore[assignment]
        group = parser.add_argument_group(f"{section} settings")
        for name, field in model.model_fields.items():
            flags = [f"--{name.replace('_', '-')}"]
            if name == "k":
                flags.insert(0, "-k")
            if name == "max_tokens":
                flags.append("--max-new-tokens")
            kind = _plain(field.annotation)
            default = "none" if field.default in ("", None) else field.default
            known = _strategies(looks[section, name])
            text = f"{field.description or name.replace('_', ' ')}{known} (default: {default})".replace("%", "%%")
            destination = f"{section}.{name}"
            if kind is bool and name in chosen:
                off = f"Not: {text}"
                group.add_argument(f"--no-{name}", dest=destination, action="store_false", default=None, help=off)
            elif kind is bool:
                group.add_argument(
                    *flags, dest=destination, action=argparse.BooleanOptionalAction, default=None, help=text
                )
            elif get_origin(kind) is Literal:
                group.add_argument(*flags, dest=destination, choices=get_args(kind), help=text)
            else:
                metavar = "NAME" if known else kind.__name__.upper()
                group.add_argument(*flags, dest=destination, type=kind, metavar=metavar, help=text)


def _strategies(look: Looks) -> str:
    """Return what can be chosen, in words; empty where a setting names no strategy."""
    names = recipes.names(look.of, look.without) if look.of else ()
    return "".join(f" {name}: {recipes.REGISTRIES[look.of].words(name)}." for name in names)


def _plain(annotation: object) -> type:
    """Return the type behind an optional one."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(argument for argument in get_args(annotation) if argument is not type(None))
    return annotation  # type: ignore[return-value]


def workspace_of(arguments: argparse.Namespace) -> Path:
    """Return the workspace that the call names, else the default one."""
    return arguments.workspace.expanduser().resolve() if arguments.workspace else workspace_path()


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Return the workspace's settings with those of the command line on top; others are unset, at their defaults.

    Raises UsageError for a wrong value.
    """
    data = read_settings(workspace_of(arguments)).model_dump(exclude_unset=True)
    for name, value in vars(arguments).items():
        section, dot, field = name.partition(".")
        if dot and value is not None:
            data.setdefault(section, {})[field] = value
    return load(data)


def listed(text: str) -> list[str]:
    """Return the names of a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
