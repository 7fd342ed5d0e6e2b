"""Values of a wrong kind at any place of a file of questions, answers or ratings: read, or refused in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.protocols import Case, answers, entailment, hotpotqa, run_protocols, study_items
from pdfqa_core.protocols.gold import formats, read_gold
from pdfqa_core.protocols.gold.rows import columns_of, mapped
from tests.protocols.odd_values import ODD, changed

PASSAGES = [{"title": "T", "text": "Storks eat frogs.", "document_id": "d"}]
FILES: dict[str, Any] = {
    "questions": [
        {"id": "a", "question": "What?", "answer": "Frogs.", "references": ["Frogs."], "document": "a.pdf", "page": 2,
         "quote": "eat", "type": "fact", "answerable": True, "follow_up_of": "", "contexts": PASSAGES, "human": True,
         "evidence": [{"doc_name": "a", "evidence_page_num": 3, "evidence_text": "eat"}], "made_by": "x"},
    ],
    "squad": {"data": [{"title": "Storks", "paragraphs": [{"context": "They eat frogs.", "section_title": "s", "qas": [
        {"id": "x", "question": "What?", "answers": [{"text": "frogs"}], "is_impossible": False, "yesno": "x",
         "followup": "y"}]}]}]},
    "coqa": {"data": [{"id": "x", "story": "Storks eat.", "questions": [{"input_text": "Who?"}],
                       "answers": [{"input_text": "Storks"}], "additional_answers": {"0": [{"input_text": "They"}]}}]},
    "cast": [{"number": 1, "turn": [{"number": 1, "raw_utterance": "What?", "passage": "Storks", "passage_id": 2,
                                     "canonical_result_id": "c"}]}],
    "mtrag": [{"task_id": "x", "input": [{"speaker": "user", "text": "a"}, {"speaker": "agent", "text": "b"},
                                         {"speaker": "user", "text": "c"}], "contexts": PASSAGES,
               "targets": [{"text": "t"}], "answerability": ["ANSWERABLE"], "Question Type": ["x"],
               "conversation_id": "c"}],
    "clapnq": [{"id": "x", "input": "What?", "passages": PASSAGES, "output": [{"answer": "a"}]}],
    "hotpotqa": [{"_id": "a", "question": "Who?", "answer": "x", "type": "bridge", "supporting_facts": [["A", 0]],
                  "context": [["A", ["One.", "Two."]]]}],
    "hotpotqa columns": [{"id": "a", "question": "Who?", "answer": "x", "type": "bridge",
                          "supporting_facts": {"title": ["A"], "sent_id": [0]},
                          "context": {"title": ["A"], "sentences": [["One."]]}}],
    "asqa": {"dev": {"7": {"ambiguous_question": "Who?", "qa_pairs": [{"question": "a", "short_answers": ["b"]}],
                           "annotations": [{"long_answer": "c"}]}}},
    "entailment": {"results": [{"query_id": "x", "query": "a", "gt_answer": "b", "response": "c",
                                "retrieved_context": [{"doc_id": "0", "text": "d"}],
                                "answer2response": ["Entailment"], "response2answer": ["Entailment"],
                                "retrieved2response": [["Entailment"]], "retrieved2answer": [["Entailment"]],
                                "response_claims": [["a", "b", "c"]], "gt_answer_claims": [["a", "b", "c"]]}]},
    "entailment rows": [{"id": "x", "question": "a", "context": [{"text": "b"}], "ground_truth": "c", "answer": "d"}],
    "answers": [{"id": "x", "answer": "a", "citations": [{"filename": "a.pdf", "page": 7, "verified": True}],
                 "refused": False, "seconds": 1.5, "question": "q", "system": "s"}],
    "predictions": {"answer": {"a": "x"}, "sp": {"a": [["A", 0]]}},
    "run": {"systems": [{"name": "s", "items": [{"id": "a", "answer": "x", "document": "d", "question": "q"}]}]},
}  # fmt: skip
RUNS = {
    f"run of {name}": lambda path, name=name: run_protocols.get(name).written(path, {"s": path})
    for name in run_protocols.names()
}
READERS: dict[str, Callable[[Path], Any]] = {
    "gold": read_gold,
    "columns": lambda path: (columns_of(path), mapped(path, {"question": "question", "answer": "answer"})),
    "answers": lambda path: answers.read_rows(path, several=False),
    "several answers": lambda path: answers.read_rows(path, several=True),
    "asqa": formats.read_asqa,
    "asqa answers": formats.read_asqa_answers,
    "entailment": entailment.read_rows,
    "hotpotqa": hotpotqa.read_questions,
    "hotpotqa predictions": lambda path: hotpotqa.read_predictions(path, (Case("a", "?"),), path.name),
    "items": study_items.read_predictions,
    **RUNS,
}
OF = {  # the readers of each file, beside that of questions, which looks into all of them
    "questions": ("columns", "answers", "several answers", *RUNS), "asqa": ("asqa",),
    "entailment": ("entailment",), "entailment rows": ("entailment",), "answers": ("answers", "items", "asqa answers"),
    "hotpotqa": ("hotpotqa",), "hotpotqa columns": ("hotpotqa",), "predictions": ("hotpotqa predictions",),
    "run": ("items",),
}  # fmt: skip


FEW = ("null", "[7]", "{}", '"\\ud800"', "true", "9" * 6000)


def cases() -> Iterator[tuple[str, str]]:
    for name in FILES:
        for reader in ("gold", *OF.get(name, ())):
            yield name, reader


@pytest.mark.parametrize(("name", "reader"), list(cases()))
def test_an_odd_value_anywhere_ends_in_words(tmp_path: Path, name: str, reader: str) -> None:
    refused, unnamed, path = 0, [], tmp_path / "odd.json"
    odd = ODD if reader == "gold" else FEW
    for data in changed(FILES[name], odd):
        path.write_text(data, encoding="utf-8")
        try:
            READERS[reader](path)
        except UsageError as error:
            refused += 1
            unnamed += [error.what] * (path.name not in error.what)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}; {data[:500]}") from error
    assert refused > len(odd) / 2
    assert unnamed == []
