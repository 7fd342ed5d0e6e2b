"""The generative reader: the best passages and the question go to a language model, its sentences are checked."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import GREEDY, LLM, History, Message, Sampling, StopSignal, Usage
from pdfqa_core.languages import ENGLISH, of_question, title
from pdfqa_core.reading.alignment import stems
from pdfqa_core.reading.base import INSUFFICIENT_CONTEXT, readers
from pdfqa_core.reading.best_sentence import best_quote, nearest_sentence
from pdfqa_core.reading.checking import Checked, Checker
from pdfqa_core.reading.citations import strip_markers
from pdfqa_core.reading.comparing import Compared, first_compared
from pdfqa_core.reading.declining import DECLINED, declines
from pdfqa_core.reading.evidence import Evidence, best, gather, list_asked_for
from pdfqa_core.reading.extractive import ExtractiveReader
from pdfqa_core.reading.facts import facts, name_words
from pdfqa_core.reading.guard import about, counts_else, flaw, plainly
from pdfqa_core.reading.matching import language_of
from pdfqa_core.reading.numbers import numbers
from pdfqa_core.reading.prompts import (
    COMPUTED,
    EARLIER,
    EARLIER_WORDS,
    FACTS_FIRST,
    IS_IT_SO,
    IT_IS_NOT_SO,
    IT_IS_SO,
    ITEMS,
    PASSAGE,
    PLAIN,
    QUOTE,
    READ,
    Form,
    quoted,
)
from pdfqa_core.reading.question_type import QuestionType, asks_for_amount, question_type
from pdfqa_core.reading.writing import write
from pdfqa_core.reading.yes_or_no import log_odds
from pdfqa_core.streaming import is_set
from pdfqa_core.text import sentences, terms
from pdfqa_core.types import Answer, Done, Event, Hit, Progress, Support

UNSUPPORTED = "said nothing that the passages say"
COUNTED_ELSE = "counted something else than was asked for"
SAID_BEFORE = "This was the answer before, too: look whether it answers this question."
UNANSWERED = frozenset({UNSUPPORTED, COUNTED_ELSE})  # after these the nearest sentences are no answer
_CONDITION = re.compile(
    r"\b(?:if|unless|except|provided that|as long as|only (?:when|with|after|on|in))\b", re.IGNORECASE
)
_WHO = re.compile(r"^\W*(?:(?:and|but|so|ok|then)\b\W*)*who(?:m|se)?\b", re.IGNORECASE)
_ONE_NAME = re.compile(r"(?<!\S)(?!and |& )\S+(?: (?!and |& )\S+)*")  # of "Ada Low and Ben Oak"
_JOINED = re.compile(r"[^.;:()]{0,20}(?:,|\band\b|&|\bas well as\b)[^.;:()]{0,40}")  # between two names of a list
MARKED, QUOTED = "marked", "quoted"  # what becomes of a sentence that no passage supports


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What was written for a question: by the model, or (without `usage`) taken from the passages.

    `declined`: it says that the passages do not answer; `flaw`: why it is no answer.
    """

    text: str
    usage: Usage | None = field(default_factory=Usage)
    checked: Checked = field(default_factory=Checked)
    first_token: float | None = None
    check_seconds: float = 0.0
    flaw: str = ""
    declined: bool = False


@readers.register("generative", "the language model writes")
class GenerativeReader:
    """Writes an answer with a language model.

    The first `passages` hits go into the prompt, overlapping ones counted once, in the order of their place in the
    documents; of them the sentences that fit the question best, where `prompt_tokens` (0: no limit) sets how many
    tokens they may have. What does not fit the context beside `max_tokens` for the answer is left out from the end.
    The last pair of the history stands behind them: it is given where the question leans on it. `form` is how the
    model's family is asked: an instruction by the type of the question (`type_of`, None: found by a rule), unless there
    is an `instruction`. Where the form has thresholds for them, the model's probabilities decide a yes-or-no question
    and the model writes why; where they are not clear it writes the facts first. `checker` compares the answer with
    the passages.
    What is no answer (see `guard`) or has no support at all is never kept: the model is asked once more, for a quote.
    If that is no answer either, the passages do not answer where one of the two had no support, else the nearest
    sentences do.
    `unsupported` says what becomes of a single sentence that no passage supports: "marked", or "quoted": the nearest
    sentence of a passage takes its place.
    The model's progress (loading, waiting, reading) is passed on.
    """

    def __init__(
        self, llm: LLM, *, passages: int = 4, prompt_tokens: int = 0, max_tokens: int = 256,
        sampling: Sampling = GREEDY, form: Form = PLAIN, type_of: QuestionType | None = None, instruction: str = "",
        unsupported: str = MARKED, checker: Checker | None = None,
    ) -> None:  # fmt: skip
        self.llm = llm
        self.passages = passages
        self.prompt_tokens = prompt_tokens
        self.max_tokens = max_tokens
        self.sampling = sampling
        self.form = form
        self.type_of = type_of
        self.instruction = instruction
        self.unsupported = unsupported
        self.checker = checker or Checker()

    def messages(self, question: str, evidence: Evidence | None, history: History = ()) -> list[Message]:
        """Return the prompt for the question: evidence, the turn before, question, instruction, in this order."""
        kind = self.type_of or question_type(question)
        instruction = self.instruction or self.form.instruction(question, kind) + _in_its_language(question, evidence)
        if not self.instruction and kind != "boolean" and evidence is not None and list_asked_for(question, evidence):
            instruction = f"{instruction} {ITEMS}"
        return self.prompt(question, evidence, history, instruction)

    def prompt(self, question: str, evidence: Evidence | None, history: History, instruction: str) -> list[Message]:
        """Return the prompt with any instruction at its end."""
        shown = zip(self._headings(evidence), _texts(question, evidence), strict=True) if evidence is not None else ()
        passages = "\n\n".join(
            PASSAGE.fill(number=str(number), text=quoted(f"{heading}\n{text}" if heading else text))
            for number, (heading, text) in enumerate(shown, 1)
        )
        earlier = "".join(
            EARLIER.fill(question=quoted(asked), answer=quoted(" ".join(answer.split()[:EARLIER_WORDS])))
            for asked, answer in history[-1:]
        )
        content = READ.fill(passages=passages, earlier=earlier, question=quoted(question), instruction=instruction)
        return [Message("user", content)]

    def _headings(self, evidence: Evidence) -> list[str]:
        """Return the heading of each passage, "" where the form has none."""
        if not self.form.headings:
            return [""] * len(evidence.in_order())
        passages = [hit.passage for hit in evidence.in_order()]
        shorter = [
            _section(passage.heading, before.heading) if passage.document_id == before.document_id else passage.heading
            for before, passage in pairwise(passages)
        ]
        return [passages[0].heading, *shorter] if passages else []

    def fitting(self, question: str, hits: Sequence[Hit], history: History = ()) -> Evidence:
        """Return the sentences that go into the prompt.

        Raises ModelError if not even one does beside the question.
        """
        evidence = gather(hits, self.passages, question)
        room = self.llm.context_size - min(self.max_tokens, self.llm.context_size // 2)

        def length(part: Evidence | None) -> int:
            return self.llm.count_tokens(self.messages(question, part, history))

        left: Evidence | None = evidence
        if self.prompt_tokens:
            most = min(room, length(None) + self.prompt_tokens)
            if length(evidence) > most:
                left = best(question, evidence, lambda part: length(part) <= most, self.checker.meaning)
            left = left or Evidence(evidence.sentences, evidence.places[:1])  # one sentence at least
        while left is not None and length(left) > room:
            left = left.without_last()
        if left is None:
            raise ModelError(
                f"The question and one sentence of a passage do not fit the context of {self.llm.name} "
                f"({self.llm.context_size:,} tokens).",
                "Ask a shorter question, make passages shorter, or set a larger context.",
            )
        return left

    def read(
        self, question: str, hits: Sequence[Hit], history: History = (), *, stop: StopSignal | None = None
    ) -> Iterator[Event]:
        """Yield Progress, Token and one Done; the tokens are the model's words, the answer in Done is cleaned.

        Where the tokens turn out to be no answer, the one in Done is another.
        """
        began = time.perf_counter()
        if not hits:
            yield Done(Answer(INSUFFICIENT_CONTEXT, refused=True, reader="generative", model=self.llm.name))
            return
        yield from self.llm.prepare(stop)
        evidence = self.fitting(question, hits, history)
        notes = self._left_out(evidence)
        passages = "1 passage" if len(evidence.hits) == 1 else f"{len(evidence.hits)} passages"
        reading = f"reading {passages}"
        yield Progress(reading)
        found = yield from self._answered(question, evidence, history, reading, stop)
        stopped = is_set(stop)
        for when, attempt in zip(("first", "then"), found[:-1], strict=False):
            notes.append(f"What the model wrote {when} was put aside: it {attempt.flaw}.")
        kept = found[-1]
        if kept.usage is None and not kept.declined:
            notes.append("These are the sentences of the passages that are nearest to the question.")
        if history and kept.text and not kept.declined and terms(kept.text) == terms(history[-1][1]):
            notes.append(SAID_BEFORE)
        usage = _sum([attempt.usage for attempt in found if attempt.usage is not None])
        if kept.usage is not None and kept.usage.finish_reason == "length":
            tokens = kept.usage.completion_tokens
            notes.append(f"The answer was cut {f'after {tokens} tokens' if tokens else 'by the server'}.")
        refused = kept.declined and not stopped
        if refused and kept.text and kept.text != INSUFFICIENT_CONTEXT:
            notes.append(f"{DECLINED} {kept.text}")
        compared = _compared(question, evidence)
        if compared is not None and kept.text and not refused:
            notes.append(f"Computed from the table: {compared[1].finding}")
        check = sum(attempt.check_seconds for attempt in found)
        seconds = {"read": time.perf_counter() - began - check, "check": check}
        first = next((attempt.first_token for attempt in found if attempt.first_token is not None), None)
        if first is not None:
            seconds["first_token"] = first - began
        answer = Answer(
            INSUFFICIENT_CONTEXT if refused else kept.text, kept.checked.citations, tuple(hits), refused, stopped,
            reader="generative", model=self.llm.name, seconds=seconds, prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens, notes=tuple(notes), sentences=kept.checked.sentences,
            read=tuple(hit.rank for hit in evidence.hits),
        )  # fmt: skip
        yield Done(answer)

    def _answered(
        self, question: str, evidence: Evidence, history: History, reading: str, stop: StopSignal | None
    ) -> Generator[Event, None, list[_Attempt]]:
        """Return what was tried, the last of which is the answer."""
        try:
            messages = yield from self._decided(question, evidence, history, stop)
        except StoppedError:
            return [_Attempt("")]
        found = [(yield from self._attempt(question, evidence, messages, reading, stop))]
        if not found[-1].flaw or is_set(stop):
            return found
        yield Progress("asking for a quote")
        messages = self.prompt(question, evidence, history, QUOTE)
        quote = yield from self._attempt(question, evidence, messages, reading, stop)
        if (
            not quote.flaw
            and found[-1].flaw in UNANSWERED
            and not is_set(stop)
            and not about(quote.text, question, language_of(evidence.hits))
        ):
            quote = replace(quote, flaw="quoted something else than was asked for")
        found.append(quote)
        if not found[-1].flaw or is_set(stop):
            return found
        if UNANSWERED & {attempt.flaw for attempt in found}:
            return [*found, _Attempt("", None, declined=True)]
        reader = ExtractiveReader(passages=self.passages, checker=self.checker)
        for event in reader.read(question, evidence.hits, stop=stop):
            if isinstance(event, Done):
                answer = event.answer
                checked = Checked(answer.citations, answer.sentences)
                found.append(_Attempt("" if answer.refused else answer.text, None, checked, declined=answer.refused))
        return found

    def _decided(
        self, question: str, evidence: Evidence, history: History, stop: StopSignal | None
    ) -> Generator[Event, None, list[Message]]:
        """Return the prompt; that of a yes-or-no question tells the answer if it is clear, or asks for facts."""
        kind = self.type_of or question_type(question)
        if kind != "boolean" or self.instruction or self.form.verdict is None:
            return self.messages(question, evidence, history)
        instruction = self.form.instruction(question, kind) + _in_its_language(question, evidence)
        compared = _compared(question, evidence)
        so = compared[1].answers(question) if compared is not None else None
        if compared is not None and so is not None:
            told = COMPUTED.fill(verdict=IT_IS_SO if so else IT_IS_NOT_SO, finding=compared[1].finding)
            return self.prompt(question, evidence, history, f"{told} {instruction}")
        try:
            messages = self.prompt(question, evidence, history, IS_IT_SO)
            odds = yield from log_odds(self.llm, messages, "weighing yes and no", stop=stop)
        except ModelError:  # no probabilities: its own words decide
            pass
        else:
            decided = self.form.verdict.words(odds)
            if decided == IT_IS_NOT_SO and self._depends(question, evidence):
                decided = FACTS_FIRST
            instruction = f"{decided} {instruction}"
        return self.prompt(question, evidence, history, instruction)

    def _depends(self, question: str, evidence: Evidence) -> bool:
        """Return whether the sentence nearest to a question has a condition: a flat no would hide when it is so."""
        nearest = nearest_sentence(question, evidence.hits, self.checker.meaning)
        return nearest is not None and _CONDITION.search(nearest.text) is not None

    def _attempt(
        self, question: str, evidence: Evidence, messages: list[Message], reading: str, stop: StopSignal | None
    ) -> Generator[Event, None, _Attempt]:
        """Let the model write, and check what it wrote."""
        headings = [hit.passage.heading for hit in evidence.in_order()]
        reply, usage, first_token = yield from write(
            self.llm, messages, max_tokens=self.max_tokens, sampling=self.sampling, stop=stop, reading=reading,
            echoes=[question, *headings],
        )  # fmt: skip
        text, markers = strip_markers(plainly(reply.strip(), question))
        text = text.strip()
        if declines(text):
            return _Attempt(text, usage, first_token=first_token, declined=True)
        wrong = flaw(text, question, headings, language_of(evidence.hits))
        if wrong:
            return _Attempt(text if is_set(stop) else "", usage, first_token=first_token, flaw=wrong)
        since = time.perf_counter()
        ranks = {number: hit.rank for number, hit in enumerate(evidence.in_order(), 1)}  # by the prompt's numbers
        named = [(place, ranks[number]) for place, number in markers if number in ranks]
        checked = yield from self.checker.check(text, evidence.hits, named, question, stop=stop)
        if counts_else(text, question):
            wrong = COUNTED_ELSE
        elif all(sentence.support is Support.NOT_FOUND for sentence in checked.sentences):
            wrong = UNSUPPORTED
        elif (more := _left_out_amount(question, text, checked) or _left_out_names(question, text, checked)) and not (
            is_set(stop)
        ):
            text = f"{text} {more}"
            checked = yield from self.checker.check(text, evidence.hits, named, question, stop=stop)
        elif self.unsupported == QUOTED and not is_set(stop):
            text, checked = yield from self._with_quotes(text, checked, evidence, question, stop)
        return _Attempt(text, usage, checked, first_token, time.perf_counter() - since, wrong)

    def _with_quotes(
        self, text: str, checked: Checked, evidence: Evidence, question: str, stop: StopSignal | None
    ) -> Generator[Event, None, tuple[str, Checked]]:
        """Return the text with the nearest sentence of a passage in the place of each that none supports."""
        changed = text
        for sentence in reversed(checked.sentences):
            if sentence.support is Support.NOT_FOUND:
                wrong = text[sentence.start : sentence.end]
                nearest = best_quote(wrong, evidence.hits, self.checker.meaning)
                quote = " ".join(nearest.parts[0].split()) if nearest is not None else wrong
                before, after = changed[: sentence.start], changed[sentence.end :].lstrip('"”')  # of the wrong words
                changed = f"{before.rstrip(' ')}{after}" if quote in changed else f"{before}{quote}{after}"
        changed = changed.strip()
        if changed == text:
            return text, checked
        return changed, (yield from self.checker.check(changed, evidence.hits, (), question, stop=stop))

    def _left_out(self, evidence: Evidence) -> list[str]:
        """Return a note for the user if sentences did not fit the context; trimming that was asked for needs none."""
        if self.prompt_tokens or len(evidence.places) == len(evidence.sentences):
            return []
        gone = len({quote.hit.rank for quote in evidence.sentences}) - len(evidence.hits)
        what = f"{gone} of the passages" if gone else f"{len(evidence.sentences) - len(evidence.places)} sentences"
        return [f"{what} did not fit the model's context and were left out."]


def _left_out_amount(question: str, text: str, checked: Checked) -> str:
    """Return the sentence with a number that an answer cites but does not give, where it was asked for; else "".

    "Which refrigerant is it, and how much of it?" is often answered by half.
    """
    if not asks_for_amount(question) or numbers(text):
        return ""
    wanted = set(stems(f"{question} {text}"))
    with_number = [one for one in _cited_sentences(checked) if numbers(one)]
    return max(with_number, key=lambda one: len(wanted & set(stems(one))), default="")


def _left_out_names(question: str, text: str, checked: Checked) -> str:
    """Return the cited sentence that joins others to a name that was asked for and given; "" if none does.

    Asked who voted against it, a model may name the first of "Ada Low and two members of the Greens, Ben Oak and Cy".
    """
    if not _WHO.match(question):
        return ""
    given = name_words(text)
    for said in _cited_sentences(checked):
        names = [
            (fact.start + part.start(), fact.start + part.end())
            for fact in facts(said) if fact.kind == "name"
            for part in _ONE_NAME.finditer(said[fact.start : fact.end])
        ]  # fmt: skip
        told = [name_words(said[start:end]) <= given for start, end in names]
        for (one, other), (first, second) in zip(pairwise(names), pairwise(told), strict=True):
            if first != second and _JOINED.fullmatch(said, one[1], other[0]):
                return said
    return ""


def _cited_sentences(checked: Checked) -> list[str]:
    """Return the whole sentences of the quotes that say what the answer says."""
    found = [
        citation.quote[start:end].strip()
        for citation in checked.citations if citation.verified
        for start, end in sentences(citation.quote)
    ]  # fmt: skip
    return [one for one in found if one.endswith((".", "!"))]


def _texts(question: str, evidence: Evidence) -> list[str]:
    """Return the shown text of each passage; a table in which numbers had to be compared says what was found."""
    texts = evidence.texts()
    found = _compared(question, evidence)
    if found is not None:
        place, compared = found
        texts[place] += f"\n{compared.words}"
    return texts


def _compared(question: str, evidence: Evidence) -> tuple[int, Compared] | None:
    """Return what comparing numbers of the shown passages says, with the place of its passage in their order."""
    return first_compared(question, [hit.passage for hit in evidence.in_order()])


def _in_its_language(question: str, evidence: Evidence | None) -> str:
    """Return what the instruction adds for a question asked in the language of passages that are not English."""
    language = language_of(evidence.hits) if evidence is not None and evidence.places else ENGLISH
    asked = of_question(question, {language, ENGLISH}) if language != ENGLISH else ENGLISH
    return "" if asked == ENGLISH else f" Answer in {title(language)}."


def _section(heading: str, before: str) -> str:
    """Return a heading without the title that the one before it, of the same document, begins with too."""
    *titles, own = heading.split(": ")
    known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(titles, before.split(": "), strict=False)))
    return ": ".join([*titles[known:], own])


def _sum(usages: Sequence[Usage]) -> Usage:
    """Return what several replies took together."""
    return Usage(sum(one.prompt_tokens for one in usages), sum(one.completion_tokens for one in usages))
