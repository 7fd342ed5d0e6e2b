"""Reading whole documents: the opening of each section becomes a line under its heading, each with its citation.

With a language model a line is one sentence of its own words, and the first line says what the whole is about; without
one it is the section's own first sentence.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from pdfqa_core.interfaces import GREEDY, LLM, History, Message, Sampling, StopSignal, Usage
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT
from pdfqa_core.reading.checking import Checker
from pdfqa_core.reading.citations import strip_markers
from pdfqa_core.reading.matching import Quote, language_of, quotes
from pdfqa_core.reading.prompts import Prompt, quoted
from pdfqa_core.streaming import is_set
from pdfqa_core.text import sentences, terms, words
from pdfqa_core.types import Answer, CheckedSentence, Citation, Done, Event, Hit, Progress, Support, Token

SECONDS = 30.0  # after which the remaining sections are quoted, not read
LONGEST_LINE = 60  # tokens
LONGEST_GIST = 90
LEAST_WORDS = 4  # of a line that says something

LINE = Prompt(
    '"""\n{text}\n"""\n\nThe text above is from the section "{heading}". Rewrite it as one sentence of at most 25 '
    "words that keeps its most important facts and numbers. Begin with the facts.",
    "heading",
    "text",
)
GIST = Prompt(
    '"""\n{text}\n"""\n\nThese are the headings and the beginning of a document called "{title}". '
    "Say in one sentence what the document is about. Use only the text above.",
    "text", "title",
)  # fmt: skip


@dataclass
class _Written:
    """The answer in the making."""

    text: str = ""
    citations: list[Citation] = field(default_factory=list)
    sentences: list[CheckedSentence] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, heading: str, line: str, citations: Sequence[Citation], checked: Sequence[CheckedSentence]) -> str:
        """Append a line whose citations and sentences count from its own beginning; return what was appended."""
        before = f"{heading}{' ' if heading.endswith(('?', ':', '!')) else ': '}" if heading else ""
        piece = ("\n" if self.text else "") + before + line
        start = len(self.text) + len(piece) - len(line)
        self.text += piece
        self.citations += [replace(one, start=one.start + start, end=one.end + start) for one in citations]
        for one in checked:
            numbers = tuple((a + start, b + start) for a, b in one.numbers)
            self.sentences.append(replace(one, start=one.start + start, end=one.end + start, numbers=numbers))
        return piece


class OverviewReader:
    """Reads hits that are the openings of sections, in their order; `llm` None: word for word.

    `titles` are those of the documents by id: a hit's heading is "title: section". A sentence of the model that no text
    of its section supports, or that has another number, gives way to the section's own words. After `seconds` the
    remaining sections are given word for word, and a note says so.
    """

    def __init__(
        self, llm: LLM | None = None, *, titles: Mapping[str, str] | None = None, sampling: Sampling = GREEDY,
        checker: Checker | None = None, seconds: float = SECONDS,
    ) -> None:  # fmt: skip
        self.llm = llm
        self.titles = titles or {}
        self.sampling = sampling
        self.checker = checker or Checker()
        self.seconds = seconds

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress section by section, one Token per line, and one Done."""
        began = time.perf_counter()
        reader, model = ("generative", self.llm.name) if self.llm is not None else ("extractive", "")
        written, seconds = _Written(), {"read": 0.0}
        notes: list[str] = []
        if self.llm is not None and hits:
            yield from self.llm.prepare(stop)
            yield Progress("reading the headings")
            piece = yield from self._gist(hits, written, stop)
            seconds["first_token"] = time.perf_counter() - began
            yield Token(piece)
        for done, hit in enumerate(hits):
            if is_set(stop):
                break
            yield Progress("reading sections", done, len(hits))
            late = time.perf_counter() - began > self.seconds
            if late and self.llm is not None and not notes:
                notes.append(f"After {self.seconds:.0f} s the last {len(hits) - done} sections are quoted, not read.")
            yield Token((yield from self._line(hit, self._heading(hit, hits), written, stop, quote=late)))
        seconds["read"] = time.perf_counter() - began
        refused = not written.text.strip() and not is_set(stop)
        yield Done(
            Answer(
                INSUFFICIENT_CONTEXT if refused else written.text.strip(), tuple(written.citations), tuple(hits),
                refused, is_set(stop), reader=reader, model=model, seconds=seconds, notes=tuple(notes),
                prompt_tokens=written.prompt_tokens, completion_tokens=written.completion_tokens,
                sentences=tuple(written.sentences),
            )
        )  # fmt: skip

    def _section(self, hit: Hit) -> str:
        """Return the heading of a hit's section, without the title before it."""
        title = self.titles.get(hit.passage.document_id, "")
        heading = " ".join(hit.passage.heading.removeprefix(f"{title}: ").split())
        return re.sub(r"\bi\b", "I", heading.capitalize()) if heading.isupper() else heading

    def _heading(self, hit: Hit, hits: Sequence[Hit]) -> str:
        """Return the heading of a line: the section's, with the document's title where there are several documents."""
        title, section = self.titles.get(hit.passage.document_id, ""), self._section(hit)
        several = len({other.passage.document_id for other in hits}) > 1
        return f"{title}, {section}" if several and title and title != section else section

    def _gist(self, hits: Sequence[Hit], written: _Written, stop: StopSignal | None) -> Generator[Event, None, str]:
        titles = list(dict.fromkeys(self.titles.get(hit.passage.document_id, "") for hit in hits))
        shown = [f"{self._section(hit)}: {_first(hit).parts[0]}" for hit in hits]
        prompt = GIST.fill(text=quoted("\n".join(shown)), title=quoted("; ".join(titles)))
        line = yield from self._write(prompt, LONGEST_GIST, written, stop, language_of(hits))
        if not _says(line, ""):
            return ""
        checked = yield from self.checker.check(line, hits, stop=stop)
        return written.add("", line, checked.citations, checked.sentences)

    def _line(
        self, hit: Hit, heading: str, written: _Written, stop: StopSignal | None, *, quote: bool
    ) -> Generator[Event, None, str]:
        """Write the line of one section: the model's sentence, or the section's own first one."""
        if self.llm is not None and not quote:
            prompt = LINE.fill(heading=quoted(heading), text=quoted(hit.passage.text))
            line = yield from self._write(prompt, LONGEST_LINE, written, stop, hit.passage.language)
            checked = yield from self.checker.check(line, [hit], stop=stop)
            supported = bool(checked.citations) and not any(one.numbers for one in checked.sentences)
            if supported and _says(line, heading):
                return written.add(heading, line, checked.citations, checked.sentences)
        first = _first(hit)
        line = " ".join(first.parts[0].split())
        citation = Citation(hit.rank, hit.passage.id, first.span, first.text, True, 0, len(line))
        return written.add(heading, line, [citation], [CheckedSentence(0, len(line), Support.SUPPORTED)])

    def _write(
        self, prompt: str, longest: int, written: _Written, stop: StopSignal | None, language: str
    ) -> Generator[Event, None, str]:
        """Return the first sentence that the model writes; what it writes after that is left out."""
        assert self.llm is not None
        text = ""
        pieces = self.llm.stream([Message("user", prompt)], max_tokens=longest, stop=stop, sampling=self.sampling)
        with closing(pieces):
            for piece in pieces:
                if isinstance(piece, Usage):
                    written.prompt_tokens += piece.prompt_tokens
                    written.completion_tokens += piece.completion_tokens
                elif isinstance(piece, Progress):
                    if piece.phase == "waiting":
                        yield Progress("waiting for other answers")
                else:
                    text += piece
        text = " ".join(strip_markers(text)[0].split())
        bounds = sentences(text, language)
        return text[bounds[0][0] : bounds[0][1]] if bounds else ""


def _first(hit: Hit) -> Quote:
    """Return the first whole sentence of a hit that is no heading; where there is none, its first words."""
    found = list(quotes(hit, longest=1))
    whole = (q for q in found if len(words(q.text)) >= LEAST_WORDS and q.text.rstrip("”\"')").endswith((".", "!", "?")))
    return next(whole, max(found, key=lambda quote: len(quote.text)))


def _says(line: str, heading: str) -> bool:
    """Whether a line says more than its heading."""
    own = set(terms(line)) - set(terms(heading))
    return len(words(line)) >= LEAST_WORDS and len(own) >= LEAST_WORDS
