"""Follow-ups get the words of the earlier questions that they leave unsaid. No model, the same result every time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdfqa_core.conversation.base import rewriters
from pdfqa_core.text import STOP_WORDS, terms
from pdfqa_core.types import StopSignal

# Words that point back to something said before.
POINTERS = frozenset(
    """it its itself they them their theirs this that these those he him his she her hers former latter same such
    others another one ones there then else instead""".split()
)

# Words of a question that carry no topic: verbs and nouns that every question has.
EMPTY = frozenset(
    """tell give show explain describe list name mean means many much long often more most work works need get make
    think know example examples reason reasons difference compare difference happen happens please also thanks ok okay
    yes really exactly detail details""".split()
)

_OPENING = re.compile(
    r"\s*(and|but|or|so|also|then|ok(ay)?|no|why|what (about|else|if)|how (about|come)|in what way)\b",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(
    r"\b(is|are|was|were|will|can|does) there\b|\bthere (is|are|was|were)\b|\bis it (possible|true)\b"
    r"|\bthat (is|are|was|were|can|have|has)\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(better|worse|cheaper|faster|slower|larger|bigger|smaller|higher|lower|longer|shorter|older|newer|easier|harder|"
    r"safer|(more|less) \w+)\b(?!.*\b(than|and|or)\b)",
    re.IGNORECASE,
)
FEW = 3  # topic words below which a question without a new name is taken for a follow-up
ANTECEDENT = 3  # topic words after which a pronoun may stand for them
_WORD = re.compile(r"[\w'’.&/-]*\w")


def topic_terms(text: str) -> list[str]:
    """Return the index terms that say what a question is about."""
    return [term for term in terms(text) if term not in STOP_WORDS and term not in EMPTY and term not in POINTERS]


def needs_context(question: str, earlier: Sequence[str] = ()) -> bool:
    """Return whether a question leaves its topic to the `earlier` questions.

    It does if it points back (a pronoun, "the same", "the other"), opens like a continuation ("and", "what about",
    "no, I meant") or compares without saying with what. It also does if it names fewer than FEW things, unless one of
    them is a name that nobody mentioned before.
    """
    if _points_back(question) or _OPENING.match(question) or _COMPARES.search(question):
        return True
    if names(question) - {term for asked in earlier for term in terms(asked)}:
        return False
    return len(set(topic_terms(question))) < FEW


def _points_back(question: str) -> bool:
    """Return whether a pronoun comes before the question has named anything that it could stand for."""
    text = _EXPLETIVE.sub(" ", question)
    named = 0
    for word in _WORD.finditer(text):
        if any(term in POINTERS for term in terms(word[0])):
            return True
        named += len(topic_terms(word[0]))
        if named >= ANTECEDENT:
            return False
    return False


def names(question: str) -> set[str]:
    """Return the terms that look like names: capitals or digits in a word that does not open a sentence."""
    inside = re.finditer(r"(?<![.?!:]\s)(?<!^)\b\w*[A-Z0-9]\w*", question)
    return {term for word in inside for term in topic_terms(word[0])}


def phrases(question: str, known: set[str]) -> list[str]:
    """Return the runs of topic words of `question` as they are written, those already `known` left out."""
    found: list[str] = []
    reached, joined = -1, False
    for word in _WORD.finditer(question):
        wanted = [term for term in topic_terms(word[0]) if term not in known]
        if not wanted:
            joined = False
            continue
        if joined and not question[reached : word.start()].strip():
            found[-1] += f" {word[0]}"
        else:
            found.append(word[0])
        reached, joined = word.end(), True
    return found


@rewriters.register("concatenation")
class Concatenation:
    """Appends, in brackets, the topic words of the questions before, back to the last one that stood alone.

    "How much is it?" after "What is the deductible of the Standard plan?" becomes
    "How much is it? (deductible, Standard plan)". `turns` is how far it looks back. A question that stands alone is
    left as it is.
    """

    needs_llm = False

    def __init__(self, *, turns: int = 3) -> None:
        self.turns = turns

    def rewrite(self, question: str, history: Sequence[tuple[str, str]], *, stop: StopSignal | None = None) -> str:
        """Return the question, with the words it needs."""
        recent = [asked for asked, _ in history[-self.turns :]] if self.turns else []
        if not recent or not needs_context(question, recent):
            return question
        known = set(topic_terms(question))
        added: list[str] = []
        for place, asked in reversed(list(enumerate(recent))):
            new = phrases(asked, known)
            added = new + added
            known |= set(topic_terms(asked))
            if not needs_context(asked, recent[:place]):
                break
        return f"{question.rstrip()} ({', '.join(added)})" if added else question
