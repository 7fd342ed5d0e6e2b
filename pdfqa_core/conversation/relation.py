"""How a question relates to the ones before: it leans on them, stays on their topic, or opens a new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeAlias

from pdfqa_core.conversation.pointing import POINTING, Pointing
from pdfqa_core.interfaces import History
from pdfqa_core.languages import ENGLISH, stop_words
from pdfqa_core.text import sentences, terms

# Texts of questions to an (n, dimension) array of vectors of length 1.
Encode: TypeAlias = Callable[[Sequence[str]], Any]

# Words that point back to something said before.
POINTERS = frozenset(
    """it its itself they them their theirs this that these those he him his she her hers former latter same such
    others another one ones there then else instead""".split()
)
PRONOUNS = frozenset("it its they them their theirs".split())

# Words of a question that carry no topic: verbs and nouns that every question has.
EMPTY = frozenset(
    """tell give show explain describe list name mean means many much long often more most work works need get make
    think know example examples reason reasons difference compare difference happen happens please also thanks ok okay
    yes really exactly detail details""".split()
)

_OPENING = re.compile(
    r"\s*(and|but|or|so|also|then|ok(ay)?|no|why|what (about|else|if)|how (about|come)|in what way)\b", re.IGNORECASE
)
_EXPLETIVE = re.compile(
    r"\b(is|are|was|were|will|can|does) there\b|\bthere (is|are|was|were)\b|\bis it (possible|true)\b"
    r"|\bis it (?:\w+ )?(?:allowed|ok|okay|safe|necessary|legal|free|required|permitted) (?:to|for|if)\b"
    r"|\b(?:does|did|will|would|can) it (?:cost|take) to\b|\bit (?:costs|takes|cost|took) to\b"
    r"|\bthat (is|are|was|were|can|have|has)\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(better|worse|cheaper|faster|slower|larger|bigger|smaller|higher|lower|longer|shorter|older|newer|easier|harder|"
    r"safer|(more|less) \w+)\b(?!.*\b(than|and|or)\b)",
    re.IGNORECASE,
)
# "… the same quarter of the year before", unless a number in the question says which; "What share was that?"
_UNSAID = re.compile(
    r"^(?!.*\d).*\bthe same (?:year|quarter|month|period|week|day|date|plan|report|filing|document|company)\b"
    r"|\b(?:is|was|are|were)\s+(?:that|this|it|those|these)\s*\??\s*$",
    re.IGNORECASE,
)
_WORDS = {ENGLISH: Pointing(POINTERS, PRONOUNS, EMPTY, _OPENING, _COMPARES, _EXPLETIVE, _UNSAID)} | POINTING
# What a thing is asked for: "for a family", up to the next small word.
_FOR = re.compile(
    r"\bfor((?:\s+(?!(?:in|of|with|under|at|on|from|by|to|and|or|when|if|that|which|who|during|per|as|is|are)\b)"
    r"[\w'’-]+){1,4})",
    re.IGNORECASE,
)
_JOINING = {  # between the halves of a question
    ENGLISH: ("and", "or", "but"), "german": ("und", "oder", "aber"), "french": ("et", "ou", "mais"),
    "spanish": ("y", "o", "pero"), "italian": ("e", "o", "ma"), "portuguese": ("e", "ou", "mas"),
    "dutch": ("en", "of", "maar"),
}  # fmt: skip
_OTHER = Pointing()  # of a language whose words are not known: few words alone tell a follow-up
_ASKS = re.compile(
    r"\s*(?:who|whom|whose|what|which|when|where|how|is|are|was|were|do|does|did|can|could|will|would|should|may|must|has|"
    r"have|had)\b",
    re.IGNORECASE,
)
WHOLE = 4  # words of a sentence at least
FEW = 3  # topic words below which a question without a new name is taken for a follow-up
ANTECEDENT = 3  # topic words of a sentence after which a pronoun may stand for them
SHARED = 0.2  # share of a question's topic words that were said before, below which the topic may be new
# Cosine to every earlier question below which the topic is new; half of it where a topic word was said before.
# Chosen on conversations of TREC CAsT 2021 and MT-RAG with all-MiniLM-L6-v2: benchmarks/rewriting_cast2021.py.
NEW_TOPIC = 0.2
_WORD = re.compile(r"[\w'’.&/-]*\w")


class Relation(Enum):
    """What a question has to do with the ones before."""

    FOLLOW_UP = "leaves something unsaid"
    SAME_TOPIC = "stands alone, on the same topic"
    NEW_TOPIC = "opens a new topic"


def relation(
    question: str, history: History, *, encode: Encode | None = None, new_topic: float = NEW_TOPIC,
    language: str = ENGLISH,
) -> Relation:  # fmt: skip
    """Return how a question relates to the (question, answer) pairs before it, at least one.

    One that points back is a follow-up. The topic is new if the cosine of the question with every earlier question is
    below `new_topic`, or below half of that where the question shares a topic word with what was said. Without
    `encode`, it is new if the question needs no context and shares less than a fifth of its topic words. With
    `new_topic` 0 no topic is new. `language` is that of the questions.
    """
    earlier = [asked for asked, _ in history]
    if points_back(question, earlier, language):
        return Relation.FOLLOW_UP
    needs = needs_context(question, earlier, language)
    topic = set(topic_terms(question, language))
    said = {term for pair in history for text in pair for term in terms(text)}
    if new_topic <= 0:
        new = False
    elif encode is not None:
        vectors = encode([question, *earlier])
        new = float((vectors[1:] @ vectors[0]).max()) < (new_topic / 2 if topic & said else new_topic)
    else:
        new = not needs and len(topic & said) < SHARED * len(topic)
    if new:
        return Relation.NEW_TOPIC
    return Relation.FOLLOW_UP if needs else Relation.SAME_TOPIC


def topic_terms(text: str, language: str = ENGLISH) -> list[str]:
    """Return the index terms that say what a question is about."""
    words, left_out = _WORDS.get(language, _OTHER), stop_words(language)
    return [
        term for term in terms(text) if term not in left_out and term not in words.empty and term not in words.pointers
    ]


def needs_context(question: str, earlier: Sequence[str] = (), language: str = ENGLISH) -> bool:
    """Return whether a question leaves its topic to the `earlier` questions.

    It does if it points back, or names fewer than FEW things, unless one of them is a name nobody mentioned before.
    """
    if points_back(question, earlier, language):
        return True
    if names(question, language) - {term for asked in earlier for term in terms(asked)}:
        return False
    return len(set(topic_terms(question, language))) < FEW


def is_whole(question: str, language: str = ENGLISH) -> bool:
    """Return whether a question is a sentence about something of its own, though about few things.

    "When do guests have to leave?" is: words of the questions before may help to find its passage, but do not belong to
    it. For English.
    """
    if language != ENGLISH or _ASKS.match(question) is None or len(question.split()) < WHOLE:
        return False
    return len(set(topic_terms(question))) > 1 and not points_back(question)


def points_back(question: str, earlier: Sequence[str] = (), language: str = ENGLISH) -> bool:
    """Return whether a question says that something came before.

    By a pronoun ("the same", "the other") with nothing in its sentence that it could stand for, by a pronoun and a
    topic word of the last question, by its opening ("and", "what about", "no, I meant"), by a comparison without saying
    with what, or by what else it leaves unsaid.
    """
    words = _WORDS.get(language, _OTHER)
    if words.opening.match(question) or words.compares.search(question) or words.unsaid.search(question):
        return True
    if any(_open_pronoun(question[start:end], words, language) for start, end in sentences(question, language)):
        return True
    last = set(topic_terms(earlier[-1], language)) if earlier else set()
    return bool(last & set(terms(question))) and bool(words.pronouns & set(terms(words.expletive.sub(" ", question))))


def without_replaced(asked: str, question: str) -> str:
    """Return an earlier question without what a follow-up that says nothing else says anew.

    "What is the deductible for an individual?" has no individual before "And for a family?".
    """
    mine, theirs = _FOR.search(question), _FOR.search(asked)
    if mine is None or theirs is None:
        return asked
    new, old = set(topic_terms(mine[1])), set(topic_terms(theirs[1]))
    if not new or not old or new & old or set(topic_terms(question)) - new:
        return asked
    return asked[: theirs.start()] + asked[theirs.end() :]


def _open_pronoun(sentence: str, words: Pointing, language: str) -> bool:
    """Return whether a pronoun comes before the sentence has named anything that it could stand for.

    What its first half names is enough for the second: "How high is the rent and when must it be paid?"
    """
    named = 0
    for word in _WORD.finditer(words.expletive.sub(" ", sentence)):
        if named and word[0].casefold() in _JOINING.get(language, ()):
            return False
        if any(term in words.pointers for term in terms(word[0])):
            return True
        named += len(topic_terms(word[0], language))
        if named >= ANTECEDENT:
            return False
    return False


def names(question: str, language: str = ENGLISH) -> set[str]:
    """Return the terms that look like names: capitals or digits in a word that does not open a sentence.

    Every German noun has a capital: there only digits tell.
    """
    sign = "0-9" if language == "german" else "A-Z0-9"
    inside = re.finditer(rf"(?<![.?!:]\s)(?<!^)\b\w*[{sign}]\w*", question)
    return {term for word in inside for term in topic_terms(word[0], language)}


def phrases(question: str, known: set[str], language: str = ENGLISH) -> list[str]:
    """Return the runs of topic words of `question` as they are written, those already `known` left out."""
    found: list[str] = []
    reached, joined = -1, False
    for word in _WORD.finditer(question):
        wanted = [term for term in topic_terms(word[0], language) if term not in known]
        if not wanted:
            joined = False
            continue
        if joined and not question[reached : word.start()].strip():
            found[-1] += f" {word[0]}"
        else:
            found.append(word[0])
        reached, joined = word.end(), True
    return found
