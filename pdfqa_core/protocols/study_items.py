"""Items of a study that come from files: generated answers beside gold answers, or a table. Drawn with a seed.

Generated answers are a JSON list or JSONL of {"id", "answer"} (more keys are passed over), or what an evaluation run
wrote: {"systems": [{"name", "items": [{"id", "answer"}]}]}. Gold answers are any file of questions that an evaluation
takes. Items are matched by id, else by the question's words, else by their order.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError, first_of, in_file
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.json_codec import parse_json
from pdfqa_core.protocols.gold import GoldPlace, GoldQuestion, read_gold
from pdfqa_core.protocols.json_rows import load_rows
from pdfqa_core.storage.records import Annotator, StudyCopy, StudyTurn
from pdfqa_core.study_types import GoldPassage, ItemDetails, ItemRole, Study
from pdfqa_core.types import Answer, Hit, Turn

STRATA = ("", "system", "document")
FIELDS = (
    "id", "question", "answer", "gold_answer", "gold_passage", "file", "page", "system", "document", "second_answer",
    "second_system", "kind", "explanation",
)  # fmt: skip
EXPECTED = "gold:"  # begins the columns that hold the right value of a criterion
_HINT = 'Write a list of {"id": …, "answer": …}, or give what “pdfqa evaluate run” wrote.'


@dataclass(frozen=True, slots=True)
class GeneratedItem:
    """An answer that a system gave to a question, with what it is compared with. `id` is that of the question.

    `hits` are the passages that it rests on, as far as they are known, `filenames` those of their documents by id.
    """

    id: str
    question: str
    answer: str
    details: ItemDetails
    hits: tuple[Hit, ...] = ()
    filenames: Mapping[str, str] = field(default_factory=dict)


def read_predictions(path: Path, system: str = "") -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows of a file of generated answers by system; those of a plain list are of `system`.

    Raises UsageError that names the file and the row.
    """
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        found: Any = [row.values for row in load_rows(path, "answers", _HINT)]
    else:
        found = parse_json(read_file(path), path.name)
    if isinstance(found, Mapping) and isinstance(found.get("systems"), list):
        named = [(str(one.get("name") or ""), one.get("items")) for one in found["systems"] if isinstance(one, Mapping)]
    elif isinstance(found, Mapping):
        named = [(system, found.get("items"))]
    else:
        named = [(system, found)]
    by_system: dict[str, list[Mapping[str, Any]]] = {}
    for name, rows in named:
        if not isinstance(rows, list) or not rows:
            raise UsageError(f"{path.name} holds no answers{f' of {name}' if name else ''}.", _HINT)
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping) or not isinstance(row.get("answer", row.get("prediction")), str):
                raise UsageError(f"{path.name}, row {number}: there is no answer.", _HINT)
            by_system.setdefault(str(row.get("system") or name), []).append(row)
    return by_system


def matched(
    predictions: Mapping[str, Sequence[Mapping[str, Any]]], gold: Sequence[GoldQuestion]
) -> tuple[GeneratedItem, ...]:
    """Return an item for each system's answer to a gold question, in the order of the gold questions.

    Raises UsageError if a system's answers cannot be matched, or none of them belongs to a gold question.
    """
    by_id = {one.id: one for one in gold}
    by_words: dict[str, GoldQuestion] = {}
    for question in gold:
        by_words.setdefault(_words(question.question), question)
    found: list[tuple[int, GeneratedItem]] = []
    places = {one.id: place for place, one in enumerate(gold)}
    for system, rows in predictions.items():
        for place, row in enumerate(rows):
            given = "" if row.get("id") is None else str(row["id"])
            asked = str(row.get("question") or "")
            truth = by_id.get(given) if given else None
            truth = truth or by_words.get(_words(asked))
            if truth is None and not given and not asked:
                if len(rows) != len(gold):
                    raise UsageError(
                        f"{system or 'The file'} has {len(rows)} answers without ids, there are {len(gold)} gold "
                        "answers.",
                        "Give the answers ids, or as many of the one as of the other.",
                    )
                truth = gold[place]
            if truth is not None:
                answer = str(row.get("answer", row.get("prediction")))
                document = str(row.get("document") or next((one.document for one in truth.places), ""))
                details = ItemDetails(
                    truth.references, tuple(map(_passage, truth.places)), system=system, document=document
                )
                found.append((places[truth.id], GeneratedItem(truth.id, truth.question, answer, details)))
    if not found:
        raise UsageError("No generated answer belongs to a gold question.", "Both need the same ids, or questions.")
    return tuple(item for _, item in sorted(found, key=lambda one: one[0]))


def generated_and_gold(predictions: Sequence[Path], gold: Path) -> tuple[GeneratedItem, ...]:
    """Return the items of files of generated answers beside a file of gold answers. Raises UsageError."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for path in predictions:
        for system, rows in read_predictions(path, path.stem).items():
            found.setdefault(system, []).extend(rows)
    return matched(found, read_gold(gold).questions)


def read_item_table(data: bytes) -> tuple[GeneratedItem, ...]:
    """Return the items of a table with the columns question and answer, and any others of FIELDS.

    `kind` makes a row a training or a check item; a column "gold:answer" holds its right value of the criterion answer,
    "gold:passage#2" that of its second passage. Raises UsageError that names all rows that do not fit.
    """
    table = read_csv(data, ("question", "answer"))
    places = {name: table.header.index(name) for name in FIELDS if name in table.header}
    expected = {name.removeprefix(EXPECTED): at for at, name in enumerate(table.header) if name.startswith(EXPECTED)}
    found, faults = [], []
    for row in table.rows:
        cell = {name: row.cells[at].strip() for name, at in places.items()}
        kind, page = cell.get("kind", ""), cell.get("page", "")
        if kind not in set(ItemRole):
            faults.append(f"row {row.number}: {kind!r} is neither training nor check")
        elif page and not page.isdecimal():
            faults.append(f"row {row.number}: {page!r} is no page number")
        elif not cell["question"] or not cell["answer"]:
            faults.append(f"row {row.number}: question or answer is empty")
        else:
            where = (cell.get("gold_passage", ""), cell.get("file", ""), int(page or 0))
            details = ItemDetails(
                tuple(filter(None, [cell.get("gold_answer", "")])),
                (GoldPassage(*where),) if any(where) else (),
                ItemRole(kind),
                {name: row.cells[at].strip() for name, at in expected.items() if row.cells[at].strip()},
                cell.get("explanation", ""),
                cell.get("system", ""),
                cell.get("document", "") or where[1],
                cell.get("second_answer", ""),
                cell.get("second_system", ""),
            )
            found.append(GeneratedItem(cell.get("id") or str(row.number), cell["question"], cell["answer"], details))
    if faults:
        raise UsageError(f"Nothing was taken, because of {first_of(faults)}.", "Correct the rows.")
    if not found:
        raise UsageError("The table has a header but no rows.", "Add one row per answer.")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Source:
    """Where items come from: files of generated answers beside a file of gold answers, or one table.

    `n` items are drawn with `seed` (0: all), the same for all annotators, each stratum of `by` giving its share.
    """

    predictions: tuple[Path, ...] = ()
    gold: Path | None = None
    table: Path | None = None
    n: int = 0
    seed: int = 0
    by: str = ""

    def items(self) -> tuple[GeneratedItem, ...]:
        """Return all items there are. Raises UsageError that names file and row."""
        if self.table is not None:
            with in_file(self.table.name):
                return read_item_table(read_file(self.table))
        if not self.predictions or self.gold is None:
            raise UsageError("Generated answers need gold answers beside them.", "Choose both files, or a table.")
        return generated_and_gold(self.predictions, self.gold)


_PARTED = re.compile(r"[,;\n]")


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names in a text, parted by commas, semicolons or lines, each once."""
    return tuple(dict.fromkeys(" ".join(name.split()) for name in _PARTED.split(text) if name.strip()))


def draw(items: Sequence[GeneratedItem], n: int, seed: int, by: str = "") -> tuple[GeneratedItem, ...]:
    """Return n of the items, drawn without replacement; 0 or more than there are: all. Training and check items stay.

    With `by` "system" or "document" every stratum gives its share, rounded by the largest remainders; the order is
    that of `items`. The same seed draws the same.
    """
    if by not in STRATA:
        raise UsageError(f"Items are not drawn by {by!r}.", "Choose system or document.")
    planted = [at for at, one in enumerate(items) if one.details.role is not ItemRole.RATED]
    rated = [at for at, one in enumerate(items) if one.details.role is ItemRole.RATED]
    if not 0 < n < len(rated):
        return tuple(items)
    strata: dict[str, list[int]] = {}
    for at in rated:
        strata.setdefault(getattr(items[at].details, by) if by else "", []).append(at)
    exact = {name: n * len(found) / len(rated) for name, found in strata.items()}
    sizes = {name: int(share) for name, share in exact.items()}
    for name in sorted(strata, key=lambda one: sizes[one] - exact[one])[: n - sum(sizes.values())]:
        sizes[name] += 1
    drawn = random.Random(seed)  # noqa: S311 - not a secret
    chosen = [at for name, found in strata.items() for at in drawn.sample(found, sizes[name])]
    return tuple(items[at] for at in sorted((*chosen, *planted)))


def pairs(items: Sequence[GeneratedItem], seed: int) -> tuple[GeneratedItem, ...]:
    """Return one item for each question that two systems answered, with both answers in an order drawn by the seed.

    Items that have a second answer already stay, but for the order. Passages, which are those of one answer, are left
    out. Raises UsageError if there are not two systems.
    """
    found = [one for one in items if one.details.second]
    by_question: dict[str, list[GeneratedItem]] = {}
    for one in items:
        if not one.details.second:
            by_question.setdefault(one.id, []).append(one)
    for same in by_question.values():
        if len(same) > 2:
            raise UsageError(
                f"{len(same)} systems answered “{same[0].question}”.", "A pair has two: give the files of two systems."
            )
        if len(same) == 2:
            first, second = same
            details = replace(first.details, second=second.answer, second_system=second.details.system)
            found.append(replace(first, details=details, hits=()))
    if not found:
        raise UsageError("No question was answered by two systems.", "Give two files of answers to the same questions.")
    drawn = random.Random(seed)  # noqa: S311 - not a secret
    return tuple(_swapped(one) if drawn.random() < 0.5 else one for one in found)


def study_of(
    name: str,
    items: Sequence[GeneratedItem],
    *,
    seed: int = 0,
    names: Sequence[str] = (),
    find: Callable[[GoldPassage], GoldPassage] = lambda passage: passage,
) -> StudyCopy:
    """Return a study of these items: each a conversation of one turn. `find` completes a gold passage."""
    now, study_id = datetime.now(UTC), uuid.uuid4().hex
    turns = []
    for one in items:
        turn = Turn(uuid.uuid4().hex, 1, one.question, one.question, Answer(one.answer, hits=one.hits))
        details = replace(one.details, gold=tuple(map(find, one.details.gold)))
        turns.append(StudyTurn(turn, uuid.uuid4().hex, one.question, dict(one.filenames), details))
    study = Study(study_id, name, now, "", tuple(one.turn.id for one in turns), seed)
    return StudyCopy(study, tuple(turns), tuple(Annotator(one, now) for one in names), ())


def _swapped(one: GeneratedItem) -> GeneratedItem:
    details = one.details
    swapped = replace(details, second=one.answer, system=details.second_system, second_system=details.system)
    return replace(one, answer=details.second, details=swapped)


def _passage(place: GoldPlace) -> GoldPassage:
    return GoldPassage(place.quote, place.document, place.page or 0)


def _words(question: str) -> str:
    return " ".join(question.casefold().split())
