"""A program that begins a run of an evaluation and is killed in its middle: another one has to go on."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pdfqa_core.services import LOCAL_OWNER, RunRequest
from pdfqa_core.settings import Settings
from tests.services.answering_server import opened_with


def main(workspace: Path, data: Path, settings: Settings) -> None:
    with opened_with(workspace, settings) as services:
        services.tasks.workers.every = 0.2
        wanted = RunRequest("answers", data, {"served": settings}, ("none",), options={"bertscore": "no"})
        run = services.evaluation.launch(LOCAL_OWNER, wanted)
        os.write(1, f"{run.id}\n".encode())
        while services.evaluation.under_way(LOCAL_OWNER)[0]:
            time.sleep(0.02)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Settings.model_validate(json.loads(sys.argv[3])))
