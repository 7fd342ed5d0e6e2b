"""The licence of a model that training starts from, as its card says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pdfqa_core.training import CARD, NOT_STATED


def stated_licence(path_or_name: str) -> str:
    """Return the licence in the header of a model's card, or NOT_STATED.

    The card is README.md in its folder; that of a model named as on the hub is looked for among downloaded files.
    Takes nothing from the network.
    """
    from huggingface_hub.repocard import metadata_load

    card = _card(path_or_name)
    try:
        header = metadata_load(card) if card else None
    except Exception:  # noqa: BLE001 - what reads YAML has errors of its own
        return NOT_STATED
    header = header or {}
    found, name = header.get("license"), header.get("license_name")
    if isinstance(found, Sequence) and not isinstance(found, str):
        found = ", ".join(map(str, found))
    if str(found or "").casefold() == "other" and name:
        found = name
    return str(found) if found else NOT_STATED


def _card(path_or_name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    folder = Path(path_or_name).expanduser()
    if folder.is_dir():
        return folder / CARD if (folder / CARD).is_file() else None
    try:
        found = try_to_load_from_cache(path_or_name, CARD)
    except HFValidationError:  # no name of the hub
        return None
    return Path(found) if isinstance(found, str) else None
