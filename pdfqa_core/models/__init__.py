"""The models of this process: encoders and re-rankers, the language model, and the files that models come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pdfqa_core.cluster import Cluster, named_cluster
from pdfqa_core.errors import PdfQAError, UsageError
from pdfqa_core.interfaces import StopSignal
from pdfqa_core.models.changes import Changes
from pdfqa_core.models.encoders import Encoders, PassageEncoder, graphs_path
from pdfqa_core.models.files import EncoderFile, EncoderFiles, ModelFile, ModelFiles
from pdfqa_core.models.language import LanguageModel, ModelStatus, State
from pdfqa_core.models.speed import Speed
from pdfqa_core.models.trained import TrainedModel
from pdfqa_core.settings import Settings, models_path
from pdfqa_core.text import sentences

__all__ = [
    "Changes", "EncoderFile", "EncoderFiles", "Encoders", "LanguageModel", "ModelFile", "ModelFiles", "ModelStatus",
    "Models", "PassageEncoder", "Speed", "State", "TrainedModel", "graphs_path",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Models:
    """What the services share. Nothing is loaded before it is asked for."""

    encoders: Encoders
    language: LanguageModel
    files: ModelFiles
    demo: bool = False
    cluster: Cluster | None = None

    @classmethod
    def open(cls, workspace: Path, settings: Settings) -> Models:
        """Return the models that the settings name, with the files of a workspace.

        Raises UsageError for a demo with a cluster.
        """
        files = ModelFiles(workspace, models_path(settings.llm))
        files.encoders.chosen = settings.retrieval.embedding_model
        cluster = named_cluster()
        if cluster is not None and settings.server.demo:
            raise UsageError(
                "A demo cannot use a cluster: the time that a visitor's files take could not be limited there.",
                "Start it without PDFQA_CLUSTER.",
            )
        encoders = Encoders.with_graphs(
            graphs_path(settings.llm), files.encoders.folders, files.encoders.find_late, cluster
        )
        return cls(encoders, LanguageModel(settings.llm, files), files, settings.server.demo, cluster)

    def changes(self) -> Changes:
        """Return what changes the models and their files. Raises PdfQAError on a demo."""
        if self.demo:
            raise PdfQAError(
                "Visitors of a demo cannot change its models.",
                "Run the app on your own computer to use others.",
            )
        return Changes(self.language, self.files, self.encoders)

    def warm_up(self) -> None:
        """Load the encoder, what finds sentences (two seconds of imports) and the language model, in the background."""

        def beside(stop: StopSignal) -> None:
            self.encoders.warm_up(stop)
            sentences("One sentence.")

        self.language.warm_up(beside)

    def close(self) -> None:
        """Stop loading and downloading, and free the language model."""
        self.files.downloads.close()
        self.files.encoders.downloads.close()
        self.language.close()
        if self.cluster is not None:
            self.cluster.close()
