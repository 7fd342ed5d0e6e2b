"""A program that begins to read PDFs and never comes to the end: another one has to go on when it is killed."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.settings import Settings
from pdfqa_core.types import Document
from tests.serving_fakes import FakeModels


def main(workspace: Path, files: list[Path]) -> None:
    with Services.open(workspace, Settings(), FakeModels()) as services:
        services.tasks.workers.every = 0.2
        whole = services.documents.ingest

        def hang_after_one(*arguments, **options):
            for event in whole(*arguments, **options):
                yield event
                if isinstance(event, Document):
                    time.sleep(600)

        object.__setattr__(services.documents, "ingest", hang_after_one)
        extraction = Settings().extraction.model_copy(update={"workers": 1})
        services.documents.jobs.begin(LOCAL_OWNER, files, keep=True, extraction=extraction)
        while not services.documents.kept.list(LOCAL_OWNER):
            time.sleep(0.02)
        os.write(1, b"one\n")
        time.sleep(600)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(one) for one in sys.argv[2:]])
