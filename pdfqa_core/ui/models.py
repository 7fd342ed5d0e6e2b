"""The Models tab: which language model answers, what this machine can run, how to use another one."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
import psutil

from pdfqa_core.llm.catalogue import Entry, on_disk, read_catalogue, title_of
from pdfqa_core.services import Services
from pdfqa_core.ui.components import live_html, render
from pdfqa_core.ui.session import Shown


@dataclass(frozen=True, slots=True)
class Row:
    """A known model."""

    name: str
    title: str
    note: str
    licence: str
    size: str
    memory: str
    fits: str
    tone: str
    where: str
    active: bool


def _row(entry: Entry, services: Services, available_mb: float) -> Row:
    needed = entry.memory(services.settings.llm.context_size, 512) / 1e6
    share = needed / available_mb
    fits, tone = ("fits", "ok") if share < 0.7 else ("tight", "warn") if share < 1 else ("too large", "bad")
    here = on_disk(entry, services.models.folder) is not None
    return Row(
        entry.name, entry.title, entry.note, entry.licence, _gigabytes(round(entry.size / 1e6)), _gigabytes(round(needed)),
        fits, tone, "here" if here else "not downloaded", entry.name == services.settings.llm.model,
    )  # fmt: skip


def _gigabytes(megabytes: int) -> str:
    return f"{megabytes} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"


def models_html(services: Services) -> str:
    """Return the model in use and the known ones."""
    memory, settings = psutil.virtual_memory(), services.settings.llm
    return render(
        "models",
        status=services.models.status,
        active=settings.url or title_of(settings.model),
        small=settings.model == read_catalogue()[0].name and not settings.url,
        cores=psutil.cpu_count(logical=False) or psutil.cpu_count(),
        memory=f"{memory.total / 1e9:.0f}",
        free=f"{memory.available / 1e9:.0f}",
        threads=settings.threads,
        folder="" if services.settings.server.demo else services.models.folder,
        rows=[_row(entry, services, memory.total / 1e6) for entry in read_catalogue()],
    )


def build(services: Services, session: gr.State) -> Shown:
    """Build the tab."""
    with gr.Row(elem_classes=["pq-columns"], elem_id="models-columns"), gr.Column():
        html = live_html(elem_id="models")
    return Shown(lambda: models_html(services), [], [html])
