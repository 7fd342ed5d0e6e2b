"""Files for other programs: JSON lines, TREC runs and judgements, questions as BEIR."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

from pdfqa_core.errors import UsageError
from pdfqa_core.evaluation_types import Ranking
from pdfqa_core.extraction.process.outside import read_file, unpacked
from pdfqa_core.json_codec import parse_json, plain
from pdfqa_core.storage.records import SyntheticQuestion
from pdfqa_core.text import JOINER
from pdfqa_core.types import Passage, Span

# ----------------------------------------------------------------------------------------------------
# JSON lines, exactly: `json_codec.decode` gives each value back as it was.

# Characters that JSON allows within strings but that some readers take for the end of a line.
_LINE_ENDS = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def write_jsonl(values: Iterable[Any]) -> bytes:
    """Return one line of UTF-8 JSON per dataclass; accents stay readable.

    Raises UsageError if a number is not finite, which JSON cannot hold.
    """
    return b"".join(_line(value) + b"\n" for value in values)


def _line(value: Any) -> bytes:
    data = plain(value)
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS)
    except ValueError as error:
        raise UsageError(f"A number cannot be written as JSON: {error}.") from error
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: JSON can hold it escaped only
        return json.dumps(data).encode("ascii")


# ----------------------------------------------------------------------------------------------------
# Runs and studies that come from another workspace, as ZIP files with one JSON object in them that says all.


@contextmanager
def unpacked_copy(
    source: Path | bytes, name: str, of: str, content: str, newest: int, hint: str
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Give the folder of a ZIP and the object of its file `content`, as long as the context is.

    `of` is what the ZIP holds, in words, `newest` the latest format that can be read. Raises UsageError: no such ZIP,
    damaged, larger than it may be, of a newer version.
    """
    with unpacked(source, name, of=of, hint=hint) as folder:
        if not (folder / content).is_file():
            raise UsageError(f"{name} holds no {of}: it is another file, or damaged.", hint)
        found: Any = parse_json(read_file(folder / content), f"{name}, {content}")
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise UsageError(f"{name} holds no {of}.", hint)
        if found["format"] > newest:
            raise UsageError(f"{name} was written by a newer version of the program.", "Update this one.")
        yield folder, found


# ----------------------------------------------------------------------------------------------------
# Run and qrels files of TREC: what trec_eval, ir_measures and ranx read.
#
# A run line is "topic Q0 docno rank score tag", a qrels line "topic 0 docno relevance". Source: trec_eval's README.

_WHITE = re.compile(r"\s+")


def _name(text: str) -> str:
    return _WHITE.sub("_", text.strip()) or "_"


def write_run(lines: Iterable[tuple[str, str, float]], tag: str) -> bytes:
    """Return a run file of (topic, docno, score), best first in each topic; white space in names becomes "_".

    trec_eval sorts by score and ignores the rank, so scores are written such that they descend strictly with the rank.
    """
    rows = []
    last: dict[str, tuple[int, float]] = {}
    for topic, docno, given in lines:
        rank, before = last.get(topic, (0, inf))
        score = min(given, _below(before)) if rank else given
        last[topic] = rank + 1, score
        rows.append(f"{_name(topic)} Q0 {_name(docno)} {rank + 1} {score!r} {_name(tag)}\n")
    return "".join(rows).encode()


def _below(score: float) -> float:
    """Return a score that trec_eval, which reads single precision, still tells apart."""
    return score - max(abs(score) * 1e-6, 1e-6)


def write_qrels(gold: Iterable[tuple[str, str]]) -> bytes:
    """Return a qrels file of the relevant (topic, docno); white space in names becomes "_"."""
    return "".join(f"{_name(topic)} 0 {_name(docno)} 1\n" for topic, docno in gold).encode()


def trec_files(
    found: Mapping[tuple[str, str], Ranking], systems: Sequence[str], filenames: Mapping[str, str]
) -> dict[str, bytes]:
    """Return `qrels.txt` and a run file per system by file name; `found` is by system and item.

    `filenames` by document id make names readable.
    """

    def docno(name: str) -> str:
        document, mark, place = name.partition("#")
        return f"{filenames.get(document, document)}{mark}{place}"

    lines: dict[str, list[tuple[str, str, float]]] = {system: [] for system in systems}
    for (system, item), ranking in found.items():
        lines[system] += [(item, docno(place.docno), place.score) for place in ranking.places]
    gold = dict.fromkeys((item, docno(name)) for (_, item), ranking in found.items() for name in ranking.gold)
    runs = {f"run-{n}-{_plain(name)}.txt": write_run(lines[name], name) for n, name in enumerate(systems, start=1)}
    return {"qrels.txt": write_qrels(gold), **runs}


def _plain(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())[:60] or "system"


# ----------------------------------------------------------------------------------------------------
# Synthetic questions as files that evaluations read: JSON lines with document, page and quote, or a BEIR folder.
#
# BEIR (Thakur et al. 2021): corpus.jsonl, queries.jsonl and qrels/test.tsv, whose line is query, document,
# relevance.


def write_questions(questions: Sequence[SyntheticQuestion], filenames: Mapping[str, str]) -> bytes:
    """Return one line of JSON per question, with its gold answer where it has one. `filenames` are by document id.

    The gold place is one page and one quote: where a passage goes on over several pages, its longest part. A turn of a
    conversation names the one before it.
    """
    turns = {(one.conversation, one.turn): one.id for one in questions if one.conversation}
    return _lines(
        {
            "id": one.id,
            "question": one.text,
            **({"answer": one.answer} if one.answer else {}),
            **({"follow_up_of": turns[one.conversation, one.turn - 1]} if one.follows else {}),
            "document": filenames.get(one.document_id, one.document_id),
            "page": _longest(one.spans).page,
            "quote": _quote(one),
            "made_by": one.kind,
            "model": one.model,
            "seed": one.seed,
            "edited": one.edited,
        }
        for one in questions
    )


def write_beir(questions: Sequence[SyntheticQuestion], passages: Sequence[Passage]) -> dict[str, bytes]:
    """Return the files of a BEIR folder by their names.

    Gold answers stand in the metadata of queries, for BEIR has none. The corpus are `passages`, and those passages of
    questions that are no longer among them. Relevant to a question are the passage that it was made of and those that
    share text with it.
    """
    corpus = {one.id: one for one in passages}
    by_document: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        by_document[passage.document_id].append(passage)
    lines = ["query-id\tcorpus-id\tscore"]
    for one in questions:
        source = corpus.setdefault(one.passage_id, Passage(one.passage_id, one.spans, one.passage))
        relevant = [source.id, *(other.id for other in by_document[one.document_id] if source.overlaps(other))]
        lines += [f"{one.id}\t{passage_id}\t1" for passage_id in dict.fromkeys(relevant)]
    return {
        "corpus.jsonl": _lines({"_id": one.id, "title": one.heading, "text": one.text} for one in corpus.values()),
        "queries.jsonl": _lines(
            {
                "_id": one.id,
                "text": one.text,
                "metadata": {
                    "made_by": one.kind,
                    "model": one.model,
                    **({"answer": one.answer} if one.answer else {}),
                },
            }
            for one in questions
        ),
        "qrels/test.tsv": ("\n".join(lines) + "\n").encode(),
    }


def _longest(spans: Sequence[Span]) -> Span:
    return max(spans, key=lambda span: span.end - span.start)


def _quote(one: SyntheticQuestion) -> str:
    """Return the text of the longest part of a passage, whose text is its parts joined by JOINER."""
    longest = _longest(one.spans)
    start = sum(span.end - span.start + len(JOINER) for span in one.spans[: one.spans.index(longest)])
    return one.passage[start : start + longest.end - longest.start]


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)


# ----------------------------------------------------------------------------------------------------
# Triples (question, right passage, hard negative), as retrievers are trained on.
#
# The TSV is that of MS MARCO's triples.train: three texts in a line, no header. Source: Bajaj et al. 2018.

Triple = tuple[str, Passage, Passage]


def triples_tsv(triples: Iterable[Triple]) -> bytes:
    """Return a line of three texts per triple; white space in them becomes one blank."""
    cells = ((question, positive.text, negative.text) for question, positive, negative in triples)
    return "".join("\t".join(" ".join(text.split()) for text in row) + "\n" for row in cells).encode("utf-8", "replace")


def triples_jsonl(triples: Iterable[Triple]) -> bytes:
    """Return a line of JSON per triple: {"query", "positive", "negative"}."""
    return _lines({"query": q, "positive": right.text, "negative": wrong.text} for q, right, wrong in triples)


TRIPLES = {".tsv": triples_tsv, ".jsonl": triples_jsonl}
