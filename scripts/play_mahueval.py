"""Play MaHuEval once through on the sample, by two evaluators that follow rules, and write its tables into docs/.

.venv/bin/python scripts/play_mahueval.py [--conversations 10] [--least 8] [--most 10] [--write]

Forty conversations without a language model: passages by BM25, answers in the words of the document. Ada finds an
answer right if it cites a page of the gold answer, or if nothing is answered where there is no gold answer; Ben only if
it is also sure. Both find a passage relevant if it is of such a page. So the tables show the form of the results, not
what people think.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.cli.study import overlap_lines, results_text  # noqa: E402
from pdfqa_core.metrics.human_results import CONVERSATION  # noqa: E402
from pdfqa_core.protocols.conversations import Doing, Plan  # noqa: E402
from pdfqa_core.services import LOCAL_OWNER, Services  # noqa: E402
from pdfqa_core.services.documents import sample_questions  # noqa: E402
from pdfqa_core.settings import Settings  # noqa: E402
from pdfqa_core.types import Outcome, Stored, Turn  # noqa: E402

PAGE = ROOT / "docs" / "annotate.md"
BEGIN, END = "<!-- played -->\n", "<!-- end of played -->"
SETTINGS = Settings().changed("retrieval", retriever="bm25").changed("reading", reader="extractive")
ADA, BEN = "Ada", "Ben"
Row = dict[str, Any]


def rated(name: str, row: Row, turn: Turn) -> dict[tuple[str, str], str]:
    """Return what an evaluator says of a turn, by the rules above."""
    answer, gold = turn.answer, set(row["pages"])
    right = bool(gold & {one.span.page for one in answer.citations}) if gold else answer.refused
    if name == BEN:
        right = right and answer.outcome is not Outcome.PERHAPS
    values = {(turn.id, "intent"): row["type"], (turn.id, "answer"): str(int(right))}
    for hit in answer.hits:
        values[f"{turn.id}#{hit.rank}", "passage"] = str(int(bool(gold & set(hit.passage.pages))))
    return values


def hold(services: Services, study: str, name: str, first: int, turns: int, rows: list[Row]) -> None:
    """Hold one conversation, question by question from the first one, and rate it."""
    protocol = services.evaluation.mahueval
    asked: dict[str, Row] = {}
    for number in range(turns):
        row = rows[(first + number) % len(rows)]
        *_, last = protocol.ask(LOCAL_OWNER, study, name, row["question"], SETTINGS)
        assert isinstance(last, Stored)
        asked[last.turn.id] = row
    held = protocol.finish(LOCAL_OWNER, study, name)
    turn_of = {turn.id: turn for turn in held.turns}
    while turn_id := services.studies.next(LOCAL_OWNER, study, name):
        values = rated(name, asked[turn_id], turn_of[turn_id])
        services.studies.save(LOCAL_OWNER, study, name, turn_id, values)


def played(conversations: int, least: int, most: int) -> str:
    """Return the tables of the whole protocol as text."""
    rows = sample_questions()
    begins = {ADA: 0, BEN: len(rows) // 3}  # their first questions
    with tempfile.TemporaryDirectory() as folder, Services.open(Path(folder), SETTINGS) as services:
        for _ in services.documents.add_sample(LOCAL_OWNER):
            pass
        for _ in services.index.build(LOCAL_OWNER, SETTINGS):
            pass
        protocol = services.evaluation.mahueval
        study = protocol.begin(LOCAL_OWNER, "Played by rule", Plan((ADA, BEN), conversations, least, most)).id
        for begin in (begins, {ADA: begins[BEN], BEN: begins[ADA]}):
            for name in (ADA, BEN):
                for place in range(conversations):
                    hold(services, study, name, begin[name] + place, least + place % (most - least + 1), rows)
        assert all(protocol.step(LOCAL_OWNER, study, name).doing is Doing.DONE for name in (ADA, BEN))
        services.studies.look_if_open(LOCAL_OWNER, study)
        found = services.studies.reports.results(LOCAL_OWNER, study, None)
        shown = tuple(row for row in found if row.group != CONVERSATION)
        overlap = protocol.overlap(LOCAL_OWNER, study, None)
    return "\n".join([results_text(shown), "", *overlap_lines(overlap)])


def main() -> None:
    """Play, print, and with --write put the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=10, help="of each evaluator in each round (default: 10)")
    parser.add_argument("--least", type=int, default=8, help="turns (default: 8)")
    parser.add_argument("--most", type=int, default=10, help="turns (default: 10)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/annotate.md")
    given = parser.parse_args()
    text = played(given.conversations, given.least, given.most)
    print(text)
    if given.write:
        page = PAGE.read_text("utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n```\n{text}\n```\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
