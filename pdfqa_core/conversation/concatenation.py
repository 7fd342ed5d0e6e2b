"""Follow-ups are searched with the earlier questions beside them, with less weight. No language model."""

from __future__ import annotations

from collections.abc import Sequence

from pdfqa_core.conversation.another import for_another_thing
from pdfqa_core.conversation.base import rewriters
from pdfqa_core.conversation.periods import for_another_period
from pdfqa_core.conversation.relation import (
    NEW_TOPIC,
    Encode,
    Relation,
    is_whole,
    needs_context,
    phrases,
    points_back,
    relation,
    topic_terms,
    without_replaced,
)
from pdfqa_core.interfaces import History, StopSignal
from pdfqa_core.languages import ENGLISH
from pdfqa_core.streaming import is_set
from pdfqa_core.text import sentences
from pdfqa_core.types import Rewritten, WeightedTexts

# What an earlier question weighs, the question itself being 1: the last one WORDS and MEANING, each one before half as
# much; the one that named the topic TOPIC_WORDS and TOPIC_MEANING more. The sentence of the last answer that is nearest
# to the question weighs ANSWER_MEANING; its words would lead back to the passage that was shown already. A question
# that stands alone takes half of all that. Searched for on one half of the conversations of TREC CAsT 2021, but
# picked among the best with the other half and MT-RAG in view: benchmarks/rewriting_cast2021.py.
WORDS, MEANING, DECAY = 0.3, 0.1, 0.5
TOPIC_WORDS, TOPIC_MEANING = 0.2, 0.1
ANSWER_MEANING = 0.2
STANDING_ALONE = 0.5
LONGEST_ANSWER = 20  # sentences of an answer that are compared with the question

NEW_TOPIC_NOTE = "Taken as a new topic: the earlier questions played no part in the search."


@rewriters.register("concatenation", "searched with terms of earlier questions")
class Concatenation:
    """Adds the last `turns` questions to a question, each with a weight, for words and for embeddings.

    A follow-up shows, in brackets, the topic words of the last question and of the last one that stood alone: "How much
    is it?" after "What is the deductible of the Standard plan?" becomes "How much is it? (deductible, Standard plan)".
    A question that stands alone is left as it is, and one on a new topic is searched for by itself
    (`relation`; `encode` makes vectors of questions, None: judged by words; `new_topic` is the threshold). `language`
    is the one of the questions.
    """

    def __init__(
        self, *, turns: int = 5, encode: Encode | None = None, new_topic: float = NEW_TOPIC,
        language: str = ENGLISH,
    ) -> None:  # fmt: skip
        self.turns = turns
        self.encode = encode
        self.new_topic = new_topic
        self.language = language

    def rewrite(self, question: str, history: History, *, stop: StopSignal | None = None) -> Rewritten:
        """Return the question with what it is searched with. Raises ModelError if the encoder fails."""
        recent = self.recent(history)
        return self.related(question, recent)[1] if recent and not is_set(stop) else Rewritten(question)

    def recent(self, history: History) -> list[tuple[str, str]]:
        """Return the turns that are looked at."""
        return list(history[-self.turns :]) if self.turns else []

    def related(self, question: str, recent: History) -> tuple[Relation, Rewritten]:
        """Return how the question relates to the turns before it, and the question with what it is searched with.

        One that only names another period or thing becomes the last question about that, which stands alone.
        """
        recent = self._whole_turns(recent)
        if whole := self._whole(question, recent):
            return Relation.SAME_TOPIC, Rewritten(whole)
        related = relation(question, recent, encode=self.encode, new_topic=self.new_topic, language=self.language)
        if related is Relation.NEW_TOPIC:
            return related, Rewritten(question, NEW_TOPIC_NOTE)
        follow_up = related is Relation.FOLLOW_UP
        earlier = [asked for asked, _ in recent]
        if follow_up and self.language == ENGLISH:
            earlier = [without_replaced(asked, question) for asked in earlier]
        share = 1.0 if follow_up else STANDING_ALONE
        lexical, dense = [(question, 1.0)], [(question, 1.0)]
        topic = _topic(earlier, self.language)
        for place, asked in enumerate(earlier):
            faded = share * DECAY ** (len(earlier) - 1 - place)
            more = share if place == topic else 0.0
            words = " ".join(dict.fromkeys(topic_terms(asked, self.language)))
            if words:
                lexical.append((words, WORDS * faded + TOPIC_WORDS * more))
            dense.append((asked, MEANING * faded + TOPIC_MEANING * more))
        if nearest := self._nearest(question, recent[-1][1]):
            dense.append((nearest, share * ANSWER_MEANING))
        leans = follow_up and (points_back(question, earlier, self.language) or not is_whole(question, self.language))
        shown = _with_topic(question, earlier, self.language) if leans else question
        return related, Rewritten(shown, "", _rounded(lexical), _rounded(dense), leans=leans)

    def _whole_turns(self, recent: History) -> list[tuple[str, str]]:
        """Return the turns with the questions whole that named another period or thing."""
        found: list[tuple[str, str]] = []
        for asked, answer in recent:
            found.append((self._whole(asked, found) or asked, answer))
        return found

    def _whole(self, question: str, history: History) -> str:
        """Return the last question for what `question` names and nothing else; else ""."""
        period = for_another_period(question, history) if self.language == ENGLISH else ""
        return period or for_another_thing(question, history, self.encode, self.language)

    def _nearest(self, question: str, answer: str) -> str:
        """Return the sentence of an answer that is nearest to the question; the first without an encoder."""
        found = [answer[start:end] for start, end in sentences(answer, self.language)[:LONGEST_ANSWER]]
        if self.encode is None or len(found) < 2:
            return found[0] if found else ""
        vectors = self.encode([question, *found])
        return found[int((vectors[1:] @ vectors[0]).argmax())]


def _rounded(texts: Sequence[tuple[str, float]]) -> WeightedTexts:
    return tuple((text, round(weight, 4)) for text, weight in texts)


def _topic(earlier: Sequence[str], language: str) -> int:
    """Return the place of the last question that stood alone, or of the first one."""
    alone = [place for place, asked in enumerate(earlier) if not needs_context(asked, earlier[:place], language)]
    return alone[-1] if alone else 0


def _with_topic(question: str, earlier: Sequence[str], language: str) -> str:
    known = set(topic_terms(question, language))
    added: list[str] = []
    opened = earlier[_topic(earlier, language)]
    for asked in dict.fromkeys((earlier[-1], opened)):  # all between them would drown the question
        added = phrases(asked, known, language) + added
        known |= set(topic_terms(asked, language))
    return f"{question.rstrip()} ({', '.join(added)})" if added else question
