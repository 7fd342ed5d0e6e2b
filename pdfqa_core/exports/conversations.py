"""Conversations as Markdown and as plain text for people to read.

In Markdown the words of questions, answers and PDFs are escaped: none of them turns into a link, an image, a heading
or HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from pdfqa_core.reading.citations import with_markers
from pdfqa_core.reading.declining import refusal_words
from pdfqa_core.types import Answer, Conversation, Support, Turn

Names = Mapping[str, str]  # file names by document id

REMOVED = "removed document"
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&$@^]")
_INDENT = re.compile(r"^[^\S\n]+", re.MULTILINE)  # four spaces would begin a block of code
_LINE_START = re.compile(r"^(\d*)(?=[#+=:.)-])", re.MULTILINE)
_ADDRESS = re.compile(r"(?<=[a-z])(?=://)|(?<=\bwww)(?=\.)", re.IGNORECASE)  # GitHub makes links of bare addresses


_ONE = {
    Support.SUPPORTED: "the passage says this",
    Support.PARTLY: "partly in the passages",
    Support.NOT_FOUND: "not found in the passages",
}
_SEVERAL = {
    Support.SUPPORTED: "the passages say {}",
    Support.PARTLY: "{} partly",
    Support.NOT_FOUND: "{} not found in the passages",
}


def conversations_markdown(conversations: Iterable[Conversation], names: Names) -> bytes:
    """Return conversations as one Markdown text in UTF-8, `names` being the file names by document id.

    Questions and answers with their markers come with the file, the page and the quote that each marker stands for.
    """
    return "\n\n".join(_conversation(conversation, names) for conversation in conversations).encode() + b"\n"


def turn_text(turn: Turn, names: Names) -> str:
    """Return an answer with its markers and, below it, "[1] report.pdf, p. 7: “quote”" for each."""
    return _joined(answer_text(turn.answer), references(turn.answer, names, str))


def turn_markdown(turn: Turn, names: Names) -> str:
    """Return what `turn_text` does as Markdown: the list of references is one, the texts are escaped."""
    return _joined(escape(answer_text(turn.answer)), [f"- {line}" for line in references(turn.answer, names, escape)])


def answer_text(answer: Answer) -> str:
    """Return the answer with its markers; for a refusal the words shown in its place."""
    return refusal_words(answer) if answer.refused else with_markers(answer)


def references(answer: Answer, names: Names, escaped: Callable[[str], str]) -> list[str]:
    """Return one line for each passage that is quoted, for a refusal one for each of the nearest passages."""
    if answer.refused:
        places = [(hit.rank, hit.passage.document_id, hit.passage.pages, "") for hit in answer.hits]
    else:
        places = [(c.number, c.span.document_id, (c.span.page,), " ".join(c.quote.split())) for c in answer.citations]
    lines = []
    for number, document_id, pages, quote in dict.fromkeys(places):
        page = f"{pages[0]}" if len(pages) == 1 else f"{pages[0]}–{pages[-1]}"
        place = escaped(f"[{number}] {names.get(document_id, REMOVED)}")
        lines.append(f"{place}, p. {page}" + (f": “{escaped(quote)}”" if quote else ""))
    return lines


def support_counts(answer: Answer) -> str:
    """Return how many sentences the passages say, in words: "3 sentences: the passages say 2, 1 partly"."""
    counts = Counter(sentence.support for sentence in answer.sentences)
    if not counts:
        return ""
    if counts.total() == 1:
        return f"1 sentence: {_ONE[answer.sentences[0].support]}"
    parts = [words.format(counts[support]) for support, words in _SEVERAL.items() if counts[support]]
    return f"{counts.total()} sentences: {', '.join(parts)}"


def unfound_numbers(answer: Answer) -> str:
    """Return how many numbers of the answer stand in no cited passage, in words; empty if all do."""
    count = sum(len(sentence.numbers) for sentence in answer.sentences)
    return f"{count} {'number' if count == 1 else 'numbers'} not found in the cited passages" if count else ""


def escape(text: str) -> str:
    """Return `text` so that Markdown (CommonMark, with GitHub's additions) shows exactly its characters."""
    text = _INDENT.sub("", _SPECIAL.sub(r"\\\g<0>", text))
    return _ADDRESS.sub(r"\\", _LINE_START.sub(r"\1\\", text))


def _joined(text: str, lines: Iterable[str]) -> str:
    return "\n\n".join(part for part in (text, "\n".join(lines)) if part)


def _one_line(text: str) -> str:
    return escape(" ".join(text.split()))


def _conversation(conversation: Conversation, names: Names) -> str:
    asked = "1 question" if len(conversation.turns) == 1 else f"{len(conversation.turns)} questions"
    about = ", ".join(_one_line(names.get(one, REMOVED)) for one in conversation.document_ids) or "all documents"
    parts = [
        f"# {_one_line(conversation.title) or 'Conversation'}",
        f"{conversation.created_at:%Y-%m-%d}, {asked} about {about}",
        *(_turn(turn, names) for turn in conversation.turns),
    ]
    return "\n\n".join(parts)


def _turn(turn: Turn, names: Names) -> str:
    answer = turn.answer
    parts = [f"## {turn.number}. {_one_line(turn.question)}"]
    if turn.standalone_question != turn.question:
        parts.append(f"Searched for: “{_one_line(turn.standalone_question)}”")
    if answer.rewriting:
        parts.append(f"*{_one_line(answer.rewriting)}*")
    parts.append(escape(answer_text(answer)) or "No answer.")
    if listed := references(answer, names, escape):
        title = "The nearest passages:" if answer.refused else "Sources:"
        parts += [title, "\n".join(f"- {line}" for line in listed)]
    by = " with ".join(part for part in (answer.reader, answer.model) if part)
    facts = [
        support_counts(answer),
        unfound_numbers(answer),
        "stopped before its end" if answer.stopped else "",
        f"answered by {_one_line(by)}" if by else "",
    ]
    if summary := "; ".join(fact for fact in facts if fact):
        parts.append(f"*{summary[0].upper()}{summary[1:]}.*")
    parts += [f"*{_one_line(note)}*" for note in answer.notes]
    return "\n\n".join(parts)
