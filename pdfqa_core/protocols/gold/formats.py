"""The forms of files with gold answers, one reader each; that of any JSON comes last."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdfqa_core.csv_format import read_csv
from pdfqa_core.errors import UsageError, in_file
from pdfqa_core.extraction.process.outside import read_file, unpacked
from pdfqa_core.json_codec import parse_json
from pdfqa_core.protocols.gold.base import (
    GoldFile,
    GoldPlace,
    GoldQuestion,
    GoldRow,
    corpus_passage,
    file_readers,
    place_readers,
)
from pdfqa_core.protocols.gold.rows import CITED, as_questions, gold_row, json_rows, page_number, texts
from pdfqa_core.protocols.json_rows import JsonRow, check_ids, load_object, load_rows, peek
from pdfqa_core.types import Passage

# ----------------------------------------------------------------------------------------------------
# Data sets that bring their texts along: what is searched, and looking into a file to tell its form.


@dataclass(frozen=True, slots=True)
class DataSet:
    """A form of file whose questions bring passages, which all together are what is searched.

    `has` says by the first row of a file (see `peek`) whether it is of this form.
    """

    words: str
    suffixes: tuple[str, ...]
    has: Callable[[Mapping[str, Any]], bool]
    questions: Callable[[Path], Iterable[GoldQuestion]]

    def recognises(self, path: Path) -> bool:
        """Return whether the file is of this form."""
        return self.has(peek(path))

    def read(self, path: Path) -> GoldFile:
        """Return the questions and their passages. Raises UsageError for an id used twice."""
        found = tuple(self.questions(path))
        check_ids(((one.row, one.id) for one in found), path.name)
        corpus = {passage.id: passage for question in found for passage in question.contexts}
        return GoldFile(path.stem, found, tuple(corpus.values()))


def _first_has(first: Mapping[str, Any], within: str, key: str) -> bool:
    """Return whether a list of objects stands under `within`, the first of which has this key."""
    rows = first.get(within)
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], Mapping) and key in rows[0]


def rows_of(path: Path, hint: str, *, within: tuple[str, ...] = ()) -> list[JsonRow]:
    """Return the rows of a data set's file. Raises UsageError that names file and row."""
    return load_rows(path, "questions", hint, within=within)


def text_of(row: JsonRow, values: Mapping[str, Any], key: str, hint: str) -> str:
    """Return the text under a key of a row or of a part of it. Raises UsageError that names the row and the key."""
    value = values.get(key)
    if not isinstance(value, str) or not value.strip():
        found = "missing" if value is None else "empty" if value == "" else f"{type(value).__name__}, no text"
        raise UsageError(f"{row.where}: {key} is {found}.", hint)
    return value.strip()


def list_of(row: JsonRow, values: Mapping[str, Any], key: str, hint: str) -> list[Mapping[str, Any]]:
    """Return the list of objects under a key. Raises UsageError that names the row and the key."""
    value = values.get(key)
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise UsageError(f"{row.where}: {key} is no list of objects.", hint)
    return value


# ----------------------------------------------------------------------------------------------------
# ASQA rows as questions with long answers; the readings of a question are scored by the protocol of its name.

_ASQA = "Give the rows of ASQA: ambiguous_question, qa_pairs, annotations, sample_id."
_PREDICTED = ("answer", "answers", "prediction", "output")


@dataclass(frozen=True, slots=True)
class AmbiguousQuestion(GoldQuestion):
    """A row of ASQA; `pairs` are (disambiguated question, short answers)."""

    pairs: tuple[tuple[str, tuple[str, ...]], ...] = ()


def read_asqa(path: Path, *, split: str = "dev") -> tuple[AmbiguousQuestion, ...]:
    """Return the rows of a gold file; `split` chooses from the official file. Raises UsageError with file and row."""
    rows = _asqa_rows(path, split) if _is_mapping(path) else load_rows(path, "questions", _ASQA)
    found = tuple(map(_ambiguous, rows))
    check_ids(((place, one.id) for place, one in enumerate(found, start=1)), path.name)
    return found


def asqa_rows(path: Path, *, split: str = "dev") -> list[tuple[str, Mapping[str, Any]]]:
    """Return (id, row) of a gold file as it stands there. Raises UsageError with file and row."""
    rows = _asqa_rows(path, split) if _is_mapping(path) else load_rows(path, "questions", _ASQA)
    return [(_asqa_id(row, "sample_id", _ASQA), row.values) for row in rows]


def _asqa_rows(path: Path, split: str) -> list[JsonRow]:
    data = load_object(path)
    if split in data and isinstance(data[split], Mapping) and "qa_pairs" not in data[split]:
        data = data[split]
    elif data and not any(isinstance(row, Mapping) and "qa_pairs" in row for row in data.values()):
        raise UsageError(f"{path.name} has no split called {split!r}.", f"Choose among: {', '.join(data)[:200]}.")
    if not data:
        raise UsageError(f"{path.name} holds no questions.", _ASQA)
    rows = []
    for number, (key, row) in enumerate(data.items(), start=1):
        if not isinstance(row, Mapping):
            raise UsageError(f"{path.name}, {key}: not an object.", _ASQA)
        rows.append(JsonRow(number, f"{path.name}, {key}", {"sample_id": key, **row}))
    return rows


def _is_mapping(path: Path) -> bool:
    """Return whether the file is one JSON object that maps ids to rows, not a list or lines of rows."""
    data = read_file(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not data.startswith(b"{"):
        return False
    try:
        first = parse_json(data.partition(b"\n")[0], path.name)
    except UsageError:
        return True
    return isinstance(first, Mapping) and not any(key in first for key in ("qa_pairs", "sample_id", "id", *_PREDICTED))


def _ambiguous(row: JsonRow) -> AmbiguousQuestion:
    name = _asqa_id(row, "sample_id", _ASQA)
    pairs = []
    for pair in _objects(row, "qa_pairs"):
        short = pair.get("short_answers") if isinstance(pair, Mapping) else None
        if not isinstance(short, list) or not all(isinstance(text, str) for text in short):
            raise UsageError(f"{row.where}: a pair has no list of short_answers.", _ASQA)
        pairs.append((str(pair.get("question") or ""), tuple(short)))
    long_answers = []
    for one in _objects(row, "annotations"):
        text = one.get("long_answer") if isinstance(one, Mapping) else None
        if not isinstance(text, str):
            raise UsageError(f"{row.where}: an annotation has no long_answer.", _ASQA)
        long_answers.append(text)
    question = str(row.values.get("ambiguous_question") or "")
    return AmbiguousQuestion(
        name, question, row.number, tuple(long_answers), recorded=_prediction(row), pairs=tuple(pairs)
    )


def _asqa_id(row: JsonRow, key: str, hint: str) -> str:
    name = row.values.get("sample_id", row.values.get("id"))
    if name is None:
        raise UsageError(f"{row.where}: there is no {key}.", hint)
    return str(name)


def _objects(row: JsonRow, key: str) -> list[Any]:
    found = row.values.get(key)
    if not isinstance(found, list) or not found:
        raise UsageError(f"{row.where}: {key} is no list of objects.", _ASQA)
    return found


def _prediction(row: JsonRow) -> str | None:
    key = next((key for key in _PREDICTED if key in row.values), "")
    given = row.values[key] if key else None
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    return _asqa_text(given, row.where) if key else None


def _asqa_text(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise UsageError(f"{where}: the answer is {type(given).__name__}, no text.", "Give one text per question.")
    return given


def read_asqa_answers(path: Path) -> Mapping[str, str]:
    """Return the predicted long answers by id. Raises UsageError that names file and row."""
    if _is_mapping(path):
        return {key: _asqa_text(text, f"{path.name}, {key}") for key, text in load_object(path).items()}
    hint = 'Write {"id": …, "answer": …}.'
    found = []
    for row in load_rows(path, "answers", hint):
        answer = _prediction(row)
        if answer is None:
            raise UsageError(f"{row.where}: there is no answer.", hint)
        found.append((row.number, _asqa_id(row, "id", hint), answer))
    check_ids(((number, name) for number, name, _ in found), path.name)
    return {name: answer for _, name, answer in found}


def _has_readings(first: Mapping[str, Any]) -> bool:
    """Return whether rows have disambiguated questions: by themselves, or in the splits of the official file."""
    return "qa_pairs" in first or any(
        isinstance(row, Mapping) and "qa_pairs" in row
        for split in first.values()
        if isinstance(split, Mapping)
        for row in (split, *list(split.values())[:1])
    )


file_readers.register("asqa")(DataSet("ASQA", (".json", ".jsonl"), _has_readings, read_asqa))


# ----------------------------------------------------------------------------------------------------
# BEIR data sets: a corpus of short texts, queries, and which text is relevant to which. Source: Thakur et al. 2021.
#
# A data set is a folder, or a ZIP of one, as they are published.

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
SPLITS = ("test", "dev", "train")  # the first that is there is asked
FILES = (".jsonl", ".tsv")  # how its files end
_BEIR = "Give corpus.jsonl, queries.jsonl and qrels/test.tsv, in a folder or a ZIP."
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a ZIP can hold: the same files make the same ZIP


class Beir:
    """corpus.jsonl, queries.jsonl and qrels/test.tsv, else dev.tsv, else train.tsv."""

    words = "a BEIR folder or a ZIP of it (corpus.jsonl, queries.jsonl, qrels/test.tsv)"
    suffixes = (".zip",)

    def recognises(self, path: Path) -> bool:
        """Return whether it is a folder or a ZIP."""
        return path.is_dir() or path.suffix.lower() == ".zip"

    def read(self, path: Path) -> GoldFile:
        """Return the queries that have a relevant document, and the corpus."""
        if path.is_dir():
            return _read(path, path.name)
        with unpacked(path, path.name, of="BEIR data set", hint=_BEIR) as folder:
            return _read(_top(folder), path.stem)


def packed(name: str, files: Iterable[tuple[str, Path]]) -> bytes:
    """Return the ZIP of a data set whose files lie apart: those that are read, each by its name and where it is.

    `name` is that of the data set in error messages. Raises UsageError where a file is missing.
    """
    found = _needed(name, dict(files))
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w") as archive:
        for entry, path in found.items():
            info = zipfile.ZipInfo(entry, _LONG_AGO)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, read_file(path))
    return packing.getvalue()


def packed_folder(folder: Path) -> bytes:
    """Return the ZIP of a data set that is a folder. Raises UsageError where a file is missing."""
    return packed(folder.name, _inside(folder).items())


# ------------------------------------------------------------------ which files


def _needed(name: str, files: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files that are read, as they lie in a folder; qrels may also lie beside the others.

    Raises UsageError that names what is missing.
    """
    splits = [(f"qrels/{split}.tsv", place) for split in SPLITS for place in (f"qrels/{split}.tsv", f"{split}.tsv")]
    entry, place = next((pair for pair in splits if pair[1] in files), splits[0])
    wanted = {CORPUS: CORPUS, QUERIES: QUERIES, entry: place}
    if missing := [one for one, place in wanted.items() if place not in files]:
        raise UsageError(f"{name} is no BEIR data set; missing: {', '.join(missing)}.", _BEIR)
    return {one: files[place] for one, place in wanted.items()}


def _inside(folder: Path) -> dict[str, Path]:
    found = (path for path in (*folder.glob("*.*"), *folder.glob("qrels/*.tsv")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


def _top(folder: Path) -> Path:
    """Return where the files of an unpacked ZIP lie: it may hold them in a folder of its own."""
    return min((path.parent for path in folder.rglob(CORPUS)), key=lambda path: len(path.parts), default=folder)


# ------------------------------------------------------------------ what they hold


def _read(folder: Path, name: str) -> GoldFile:
    corpus, queries, qrels = _needed(name, _inside(folder)).values()
    relevant = _relevant(qrels)
    texts = tuple(_corpus(corpus))
    there = {text.document_id for text in texts}
    if not any(place.document in there for places in relevant.values() for place in places):
        raise UsageError(f"No document of {qrels.name} stands in {corpus.name}.", "Check the ids.")
    questions = tuple(_questions(queries, relevant))
    if not questions:
        raise UsageError(f"No query of {queries.name} has a relevant document in {qrels.name}.", "Check the ids.")
    return GoldFile(name, questions, texts)


def _questions(file: Path, relevant: Mapping[str, list[GoldPlace]]) -> Iterator[GoldQuestion]:
    rows = [(row, _id(row)) for row in json_rows(file)]
    check_ids(((row.number, one) for row, one in rows), file.name)
    for row, one in rows:
        if one not in relevant:
            continue
        text = row.values.get("text")
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"{row.where}: there is no text.", 'A query is {"_id": …, "text": …}.')
        more = row.values.get("metadata")
        told = gold_row(more if isinstance(more, Mapping) else {}, row.number, file.name)
        yield GoldQuestion(
            one,
            text.strip(),
            row.number,
            texts(told, "answer"),
            tuple(relevant[one]),
            generated=bool(told.values.get("made_by")),
        )


def _corpus(file: Path) -> Iterator[Passage]:
    rows = [(row, _id(row)) for row in json_rows(file)]
    check_ids(((row.number, one) for row, one in rows), file.name)
    for row, one in rows:
        yield corpus_passage(one, str(row.values.get("title") or ""), str(row.values.get("text") or ""))


def _id(row: GoldRow) -> str:
    found = row.values.get("_id")
    if found is None or found == "":
        raise UsageError(f"{row.where}: there is no _id.", "Every document and every query needs one.")
    return str(found)


def _relevant(qrels: Path) -> dict[str, list[GoldPlace]]:
    """Return the relevant documents by query. Raises UsageError that names file and line."""
    try:
        lines = read_file(qrels).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{qrels.name} is not UTF-8.", "Save it as UTF-8.") from error
    found: dict[str, list[GoldPlace]] = {}
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.split("\t")]
        where = f"{qrels.name}, line {number}"
        if len(cells) != 3:
            raise UsageError(f"{where}: not three cells.", "Write query, document and score, with tabs.")
        score = _score(cells[2])
        if score is None and number > 1:  # the first line may be a header
            raise UsageError(f"{where}: the score {cells[2]!r} is no number.", "Write 1 for relevant, 0 for not.")
        if score is not None and score > 0:
            found.setdefault(cells[0], []).append(GoldPlace(cells[1]))
    return found


def _score(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


file_readers.register("beir")(Beir())


# ----------------------------------------------------------------------------------------------------
# TREC CAsT: conversations whose turns come with the passage that answers them.
#
# That passage is the answer in the conversation so far, as in the track, and the reference: CAsT has no others.
# Source: Dalton et al. 2022.

_CAST = 'Give the topics of CAsT 2021 or 2022: {"number", "turn": [{"number", "raw_utterance", "passage"}]}.'


def _cast(path: Path) -> Iterator[GoldQuestion]:
    """Yield the turns of [{"number", "turn": [{"number", "raw_utterance", "passage"}]}]."""
    number = 0
    for row in rows_of(path, _CAST):
        before = ""
        for turn in list_of(row, row.values, "turn", _CAST):
            number += 1
            own_id = f"{row.values.get('number', row.number)}_{turn.get('number', number)}"
            text = str(turn.get("passage") or "").strip()
            source = str(turn.get("canonical_result_id") or own_id)
            passage = corpus_passage(f"{source}-{turn.get('passage_id', '')}".rstrip("-"), "", text)
            contexts = (passage,) if text else ()
            yield GoldQuestion(
                own_id,
                text_of(row, turn, "raw_utterance", _CAST),
                number,
                (text,) if text else (),
                tuple(GoldPlace(one.id) for one in contexts),
                True,
                before,
                contexts=contexts,
            )
            before = own_id


file_readers.register("cast")(
    DataSet(
        "TREC CAsT topics with passages", (".json",), lambda first: _first_has(first, "turn", "raw_utterance"), _cast
    )
)


# ----------------------------------------------------------------------------------------------------
# Answers that cite their places as `[file.pdf#page=7]`.


class CitedAnswers:
    """A mark anywhere in an answer."""

    words = "answers that cite [file.pdf#page=7]"

    def read(self, row: GoldRow, answers: Sequence[str]) -> list[GoldPlace]:
        """Return the places that the answers cite."""
        return [GoldPlace(name.strip(), int(page)) for text in answers for name, page in CITED.findall(text)]


place_readers.register("cited answers")(CitedAnswers())


# ----------------------------------------------------------------------------------------------------
# CLAPnq: a question, a passage, and a long answer with the sentences it rests on; none where it is unanswerable.

_CLAPNQ = "Give the rows of CLAPnq with id, input, passages and output."


def _clapnq(path: Path) -> Iterator[GoldQuestion]:
    """Yield the questions of {"id", "input", "passages": [{"title", "text"}], "output": [{"answer"}]}.

    Source: Rosenthal et al. 2024.
    """
    for row in rows_of(path, _CLAPNQ):
        name = str(row.values.get("id") or row.number)
        passages = list_of(row, row.values, "passages", _CLAPNQ)
        contexts = tuple(
            corpus_passage(f"{name}.{n}", str(one.get("title") or ""), text_of(row, one, "text", _CLAPNQ))
            for n, one in enumerate(passages, start=1)
        )
        answers = [str(one.get("answer") or "").strip() for one in list_of(row, row.values, "output", _CLAPNQ)]
        references = tuple(dict.fromkeys(filter(None, answers)))
        places = tuple(GoldPlace(one.id) for one in contexts) if references else ()
        yield GoldQuestion(
            name,
            text_of(row, row.values, "input", _CLAPNQ),
            row.number,
            references,
            places,
            bool(references),
            contexts=contexts,
        )


file_readers.register("clapnq")(
    DataSet(
        "CLAPnq",
        (".jsonl", ".json"),
        lambda first: {"input", "passages", "output"} <= first.keys() and isinstance(first["input"], str),
        _clapnq,
    )
)


# ----------------------------------------------------------------------------------------------------
# Questions as a table from a spreadsheet.


class CsvFile:
    """A row per question, the same names as columns."""

    words = "CSV with a row per question"
    suffixes = (".csv",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file is named so."""
        return path.suffix.lower() in self.suffixes

    def read(self, path: Path) -> GoldFile:
        """Return the questions."""
        with in_file(path.name):
            table = read_csv(read_file(path))
        rows = (gold_row(dict(zip(table.header, row.cells, strict=True)), row.number, path.name) for row in table.rows)
        return as_questions(path, rows)


file_readers.register("csv")(CsvFile())


# ----------------------------------------------------------------------------------------------------
# FinanceBench rows: `evidence` with `evidence_text` and `evidence_page_num`, which is counted from 0.


class FinanceBench:
    """A list of objects under `evidence`."""

    words = "FinanceBench's evidence (evidence_page_num from 0)"

    def read(self, row: GoldRow, answers: Sequence[str]) -> list[GoldPlace]:
        """Return a place per piece of evidence that names its page."""
        evidence = row.values.get("evidence")
        found = []
        for entry in evidence if isinstance(evidence, list) else []:
            if isinstance(entry, dict) and "evidence_page_num" in entry:
                page = page_number(entry["evidence_page_num"], row, least=0) + 1
                name = str(entry.get("doc_name") or entry.get("evidence_doc_name") or row.document)
                found.append(GoldPlace(name, page, str(entry.get("evidence_text") or "")))
        return found


place_readers.register("financebench")(FinanceBench())


# ----------------------------------------------------------------------------------------------------
# HotpotQA rows with their paragraphs: the question, ten paragraphs, and the sentences that support the answer.

_HOTPOTQA = "Give the rows of HotpotQA with _id, question, answer, supporting_facts and context."
Paragraph = tuple[str, tuple[str, ...]]  # title, sentences


def paragraphs_of(row: JsonRow) -> tuple[Paragraph, ...]:
    """Return the paragraphs of a row, in the order of the file. Raises UsageError that names the row."""
    given = row.values.get("context")
    try:
        pairs: Any = zip(given["title"], given["sentences"], strict=True) if isinstance(given, dict) else given
        return tuple((_text(title), tuple(map(_text, sentences))) for title, sentences in pairs)
    except (TypeError, ValueError, KeyError) as error:
        raise UsageError(f"{row.where}: context is no list of [title, sentences].", _HOTPOTQA) from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _supporting(row: JsonRow) -> tuple[str, ...]:
    """Return the titles of the paragraphs that support the answer. Raises UsageError that names the row."""
    facts: Any = row.values.get("supporting_facts")
    try:
        titles = facts["title"] if isinstance(facts, dict) else [title for title, *_ in facts]
        return tuple(dict.fromkeys(map(_text, titles)))
    except (TypeError, ValueError, KeyError) as error:
        raise UsageError(f"{row.where}: supporting_facts is no list of [title, sentence].", _HOTPOTQA) from error


def passage_of(paragraph: Paragraph) -> Passage:
    """Return a paragraph as a passage that is called by its title."""
    title, sentences = paragraph
    return corpus_passage(title, title, "".join(sentences))


def _hotpotqa(path: Path) -> Iterator[GoldQuestion]:
    """Yield the questions; the gold places are the paragraphs of the supporting facts.

    Rows are {"_id", "question", "answer", "supporting_facts": [[title, n], …], "context": [[title, [sentence, …]], …]}.
    """
    for row in rows_of(path, _HOTPOTQA):
        contexts = tuple(map(passage_of, paragraphs_of(row)))
        places = tuple(map(GoldPlace, _supporting(row)))
        yield GoldQuestion(
            text_of(row, row.values, "_id" if "_id" in row.values else "id", _HOTPOTQA),
            text_of(row, row.values, "question", _HOTPOTQA),
            row.number,
            (text_of(row, row.values, "answer", _HOTPOTQA),),
            places,
            contexts=contexts,
            kind=str(row.values.get("type") or ""),
        )


file_readers.register("hotpotqa")(
    DataSet(
        "HotpotQA with its paragraphs",
        (".json", ".jsonl"),
        lambda first: {"supporting_facts", "context"} <= first.keys(),
        _hotpotqa,
    )
)


# ----------------------------------------------------------------------------------------------------
# MT-RAG: the last question of a conversation with what was said before, the passages found for it, and its answer.

_MTRAG = "Give the tasks of MT-RAG with input, contexts and targets."
_OF_ITSELF = ("ANSWERABLE", "PARTIAL")


def _mtrag(path: Path) -> Iterator[GoldQuestion]:
    """Yield the questions of {"task_id", "input": [{"speaker", "text"}], "contexts": [{"text"}], "targets"}.

    Source: Katsis et al. 2025.
    """
    for row in rows_of(path, _MTRAG):
        turns = list_of(row, row.values, "input", _MTRAG)
        if not turns or turns[-1].get("speaker") != "user":
            raise UsageError(f"{row.where}: input does not end with a question of the user.", _MTRAG)
        name = str(row.values.get("task_id") or row.values.get("id") or row.number)
        contexts = tuple(
            corpus_passage(str(one.get("document_id") or f"{name} {n}"), str(one.get("title") or ""), text)
            for n, one in enumerate(list_of(row, {"contexts": [], **row.values}, "contexts", _MTRAG), start=1)
            if (text := str(one.get("text") or "").strip())
        )
        said = _words(row.values.get("answerability"))
        answerable = not said or said[0].upper() in _OF_ITSELF
        targets = [text_of(row, one, "text", _MTRAG) for one in list_of(row, row.values, "targets", _MTRAG)]
        yield GoldQuestion(
            name,
            text_of(row, turns[-1], "text", _MTRAG),
            row.number,
            tuple(targets) if answerable else (),
            tuple(GoldPlace(one.id) for one in contexts) if answerable else (),
            answerable,
            history=_pairs(turns[:-1]),
            conversation=str(row.values.get("conversation_id") or ""),
            contexts=contexts,
            kind=", ".join(_words(row.values.get("Question Type"))),
        )


def _words(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)] if value else []


def _pairs(turns: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Return (question, answer) pairs; what one side says in several messages is joined."""
    pairs: list[tuple[str, str]] = []
    for turn in turns:
        text = str(turn.get("text") or "").strip()
        if turn.get("speaker") == "user":
            pairs.append((text, ""))
        elif pairs:
            pairs[-1] = (pairs[-1][0], " ".join(filter(None, (pairs[-1][1], text))))
    return tuple(pairs)


file_readers.register("mtrag")(
    DataSet("MT-RAG tasks", (".jsonl", ".json"), lambda first: isinstance(first.get("input"), list), _mtrag)
)


# ----------------------------------------------------------------------------------------------------
# SQuAD 1 and 2, and the data sets in their form (COVID-QA, XQuAD): paragraphs with questions and answer spans.
#
# QuAC has the same form; its questions of a paragraph are one conversation. Sources: Rajpurkar et al. 2016 and 2018,
# Choi et al. 2018.

_SQUAD = 'Write {"data": [{"title": …, "paragraphs": [{"context": …, "qas": [{"id", "question", "answers"}]}]}]}.'
_NONE = "CANNOTANSWER"  # QuAC's answer to what the text does not answer


def _squad(path: Path) -> Iterator[GoldQuestion]:
    """Yield the questions of {"data": [{"title", "paragraphs": [{"context", "qas": […]}]}]}, each in a paragraph."""
    number = 0
    for row in rows_of(path, _SQUAD, within=("data",)):
        title = str(row.values.get("title") or f"text {row.number}")
        for place, paragraph in enumerate(list_of(row, row.values, "paragraphs", _SQUAD), start=1):
            text = text_of(row, paragraph, "context", _SQUAD).removesuffix(_NONE).strip()
            heading = ", ".join(filter(None, (title, str(paragraph.get("section_title") or ""))))
            passage = corpus_passage(f"{title}, paragraph {place}", heading, text)
            before = ""
            for qa in list_of(row, paragraph, "qas", _SQUAD):
                number += 1
                made = _question(row, qa, number, passage, before)
                before = made.id if "followup" in qa else ""
                yield made


def _question(row: JsonRow, qa: Mapping[str, Any], number: int, passage: Passage, before: str) -> GoldQuestion:
    answers = [text_of(row, one, "text", _SQUAD) for one in list_of(row, {"answers": [], **qa}, "answers", _SQUAD)]
    references = tuple(dict.fromkeys(one for one in answers if one != _NONE))
    answerable = bool(references) and not qa.get("is_impossible")
    return GoldQuestion(
        str(qa.get("id") or number),
        text_of(row, qa, "question", _SQUAD),
        number,
        references if answerable else (),
        (GoldPlace(passage.id),) if answerable else (),
        answerable,
        before,
        contexts=(passage,),
        kind={"y": "yes or no", "n": "yes or no"}.get(str(qa.get("yesno", "")), ""),
    )


def _coqa(path: Path) -> Iterator[GoldQuestion]:
    """Yield the questions of {"data": [{"id", "story", "questions": [{"input_text"}], "answers": [{"input_text"}]}]}.

    Each story is a passage, each list of questions a conversation. Source: Reddy 2019.
    """
    hint = 'Write {"data": [{"id", "story", "questions": […], "answers": […]}]}.'
    number = 0
    for row in rows_of(path, hint, within=("data",)):
        name = str(row.values.get("id") or row.number)
        passage = corpus_passage(name, "", text_of(row, row.values, "story", hint))
        more = row.values.get("additional_answers")
        answered = [list_of(row, row.values, "answers", hint)]
        answered += [list_of(row, more, key, hint) for key in more] if isinstance(more, Mapping) else []
        before = ""
        for turn, question in enumerate(list_of(row, row.values, "questions", hint)):
            number += 1
            given = [text_of(row, answers[turn], "input_text", hint) for answers in answered if turn < len(answers)]
            known = tuple(dict.fromkeys(one for one in given if one.lower() != "unknown"))
            own_id = f"{name}.{turn + 1}"
            yield GoldQuestion(
                own_id,
                text_of(row, question, "input_text", hint),
                number,
                known,
                (GoldPlace(passage.id),) if known else (),
                bool(known),
                before,
                contexts=(passage,),
            )
            before = own_id


file_readers.register("squad")(
    DataSet("SQuAD 1 or 2, or QuAC", (".json",), lambda first: _first_has(first, "data", "paragraphs"), _squad)
)
file_readers.register("coqa")(DataSet("CoQA", (".json",), lambda first: _first_has(first, "data", "story"), _coqa))


# ----------------------------------------------------------------------------------------------------
# Rows that name document, page and quote.


class Pages:
    """document / file / filename / doc_name, page / pages (from 1), quote / quotes."""

    words = "document and page (from 1) or quote"

    def read(self, row: GoldRow, answers: Sequence[str]) -> list[GoldPlace]:
        """Return a place per page and quote."""
        quotes = texts(row, "quotes") or texts(row, "quote")
        given = row.values.get("pages", row.values.get("page"))
        numbers = re.split(r"[;,\s]+", given.strip()) if isinstance(given, str) else given
        listed = numbers if isinstance(numbers, list) else [] if numbers is None else [numbers]
        pages = [page_number(one, row) for one in listed if one != ""]
        return [GoldPlace(row.document, page, quote) for page in pages for quote in quotes or ("",)]


place_readers.register("pages")(Pages())


# ----------------------------------------------------------------------------------------------------
# Questions as JSON lines, or as one JSON list.


class JsonFile:
    """One object per question."""

    words = "JSONL or JSON with an object per question"
    suffixes = (".jsonl", ".json")

    def recognises(self, path: Path) -> bool:
        """Return whether the file is named so, or begins like JSON."""
        return path.suffix.lower() in self.suffixes or read_file(path).lstrip()[:1] in (b"{", b"[")

    def read(self, path: Path) -> GoldFile:
        """Return the questions."""
        return as_questions(path, json_rows(path))


file_readers.register("jsonl")(JsonFile())
