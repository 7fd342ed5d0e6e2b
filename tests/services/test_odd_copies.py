"""Studies, runs and results with values of a wrong kind at any place: taken in so that they can be used, or refused."""

from __future__ import annotations

import io
import json
import traceback
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from pdfqa_core.errors import UsageError
from pdfqa_core.exports import runs
from pdfqa_core.exports.report import methods_text
from pdfqa_core.exports.runs import read_results, write_results
from pdfqa_core.exports.studies import CONTENT as STUDY
from pdfqa_core.metrics.comparison import compare
from pdfqa_core.services import LOCAL_OWNER, Services
from pdfqa_core.storage import Store
from tests.protocols.odd_values import changed
from tests.services.helpers import LITERAL
from tests.services.test_runs import SQUAD, done, request
from tests.services.test_study_files import rated
from tests.services.test_study_files import services as study_services
from tests.serving_fakes import FakeModels

ODD = ("null", "[]", "-1", "9" * 6000)


def opened(data: bytes, part: str) -> tuple[object, dict[str, bytes]]:
    """Return the content of a ZIP, and its other parts."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(parts.pop(part)), parts


def packed(content: str, part: str, others: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, one in {part: content.encode(), **others}.items():
            archive.writestr(name, one)
    return data.getvalue()


def faults(contents: Iterator[str], take: Callable[[str], None]) -> tuple[str, bool]:
    """Take each; return where it crashed and what sentences name no file, and whether many were refused, some taken."""
    refused = taken = 0
    unnamed: list[str] = []
    crashed: dict[str, str] = {}
    for content in islice(contents, None, None, 3):  # at every place one or two of the values, in turn
        try:
            take(content)
            taken += 1
        except UsageError as error:
            refused += 1
            unnamed += [error.what] * ("odd.zip" not in error.what)
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            steps = [one for one in traceback.extract_tb(error.__traceback__) if "pdfqa_core" in one.filename]
            crashed.setdefault(f"{type(error).__name__} in {steps[-1].filename}, line {steps[-1].lineno}", content)
    return "\n".join([*crashed, *unnamed[:3]]), refused > 30 and taken > 2


def test_a_study(store: Store, tmp_path: Path) -> None:
    content, others = opened(study_services(store)[1].file("me", rated(store), None).data, STUDY)
    with Store.open(tmp_path / "elsewhere") as elsewhere:
        studies, files = study_services(elsewhere)

        def take(odd: str) -> None:
            study = files.take_in("you", packed(odd, STUDY, others), "odd.zip")
            files.file("you", study.id, None)
            studies.file("you", study.id, "csv", None)
            elsewhere.owners.remove("you")

        assert faults(changed(content, ODD), take) == ("", True)


def test_a_run(services: Services, write: Callable[..., Path], tmp_path: Path) -> None:
    run_id, _ = done(services, request("answers", write(SQUAD), evidence=("given",)))
    content, others = opened(services.evaluation.exported(LOCAL_OWNER, run_id), runs.CONTENT)
    with Services.open(tmp_path / "other", LITERAL, FakeModels()) as other:

        def take(odd: str) -> None:
            for one in other.evaluation.list_runs(LOCAL_OWNER):
                other.evaluation.remove_run(LOCAL_OWNER, one.id)
            run = other.evaluation.take_in(LOCAL_OWNER, packed(odd, runs.CONTENT, others), "odd.zip")
            methods_text(other.evaluation.runs.get(LOCAL_OWNER, run.id))
            other.evaluation.exported(LOCAL_OWNER, run.id)

        assert faults(changed(content, ODD), take) == ("", True)


def test_results(services: Services, write: Callable[..., Path]) -> None:
    _, found = done(services, request("answers", write(SQUAD), evidence=("given",)))
    found = replace(found, settings={"a": "b"}, notes=("A note.",), published={"x": {"y": 1.0}})
    content = json.loads(write_results(found, compare(found)))

    def take(odd: str) -> None:
        read = read_results(odd.encode(), "odd.zip")
        write_results(read, compare(read))

    assert faults(changed(content, ODD), take) == ("", True)


def test_nul_and_half_letters_in_names_are_replaced(store: Store, tmp_path: Path) -> None:
    content, others = opened(study_services(store)[1].file("me", rated(store), None).data, STUDY)
    odd = json.dumps(content).replace('"Ada"', '"A\\u0000\\uD800"').replace('"Pilot"', '"P\\u0000"')
    with Store.open(tmp_path / "elsewhere") as elsewhere:
        studies, files = study_services(elsewhere)
        study = files.take_in("you", packed(odd, STUDY, others), "odd.zip")
        assert (study.name, studies.names("you", study.id)) == ("P\ufffd", ("A\ufffd\ufffd", "Ben"))
