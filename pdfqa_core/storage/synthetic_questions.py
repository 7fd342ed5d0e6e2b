"""Questions that were made of passages, by owner, with what a guard or a person decided about each."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from pdfqa_core.errors import UsageError
from pdfqa_core.storage.database import Database, record, row_of
from pdfqa_core.storage.records import Outcome, SyntheticQuestion
from pdfqa_core.storage.tables import documents, synthetic_questions

LONGEST = 400  # characters of a question
LONGEST_ANSWER = 2000
_C = synthetic_questions.c


class SyntheticQuestions:
    """The synthetic questions of each owner. All methods raise StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, owner: str, made: Sequence[SyntheticQuestion]) -> None:
        """Store all questions of a passage at once; nothing where the document has been removed meanwhile."""
        rows = [
            row_of(synthetic_questions, one) | {"owner": owner, "position": position}
            for position, one in enumerate(made)
        ]
        ids = {one.document_id for one in made}
        there = select(func.count()).where(documents.c.owner == owner, documents.c.id.in_(ids))
        with self._database.write() as connection:
            if rows and connection.scalar(there) == len(ids):
                connection.execute(insert(synthetic_questions), rows)

    def list(
        self, owner: str, outcomes: Collection[Outcome] = tuple(Outcome), document_ids: Collection[str] = ()
    ) -> tuple[SyntheticQuestion, ...]:
        """Return the questions with these outcomes, of these documents (none given: of all), as they were made."""
        query = select(synthetic_questions).where(_C.owner == owner, _C.outcome.in_(list(outcomes)))
        if document_ids:
            query = query.where(_C.document_id.in_(list(document_ids)))
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(_C.made_at, _C.position, _C.id))
            return tuple(record(SyntheticQuestion, row) for row in rows)

    def passages(self, owner: str, kind: str, model: str, seed: int) -> frozenset[str]:
        """Return the ids of the passages that questions have been made of in this way, or conversations begun."""
        query = (
            select(_C.passage_id)
            .where(_C.owner == owner, _C.kind == kind, _C.model == model, _C.seed == seed, _C.turn <= 1)
            .distinct()
        )
        with self._database.read() as connection:
            return frozenset(connection.scalars(query))

    def decide(
        self, owner: str, question_id: str, outcome: Outcome, text: str = "", answer: str | None = None
    ) -> SyntheticQuestion:
        """Store what a person decided; how the question shall read unless it is empty, its answer unless None.

        What is decided about a turn counts for its whole conversation. Returns the question.
        Raises UsageError where the owner has no such question, or a text is too long.
        """
        changed = {"text": " ".join(text.split())} if text.strip() else {}
        changed |= {} if answer is None else {"answer": " ".join(answer.split())}
        for name, longest in (("text", LONGEST), ("answer", LONGEST_ANSWER)):
            if len(changed.get(name, "")) > longest:
                what = {"text": "question", "answer": "answer"}[name]
                raise UsageError(f"The {what} has {len(changed[name])} characters.", f"Use at most {longest}.")
        decided: dict[str, str] = {"outcome": outcome} | ({} if outcome is Outcome.DROPPED else {"reason": ""})
        return self._change(owner, question_id, changed, decided)

    def restore(self, owner: str, before: SyntheticQuestion) -> None:
        """Give a question back its words and its answer's, and it and its conversation the outcome that they had.

        Raises UsageError for an unknown question.
        """
        words = {"text": before.text, "answer": before.answer}
        self._change(owner, before.id, words, {"outcome": before.outcome, "reason": before.reason})

    def _change(
        self, owner: str, question_id: str, words: dict[str, str], decided: dict[str, str]
    ) -> SyntheticQuestion:
        mine = (_C.owner == owner, _C.id == question_id)
        with self._database.write() as connection:
            row = connection.execute(select(synthetic_questions).where(*mine)).one_or_none()
            if row is None:
                raise UsageError("There is no such question here.", "It may have been removed with its document.")
            whole = (_C.owner == owner, _C.conversation == row.conversation) if row.conversation else mine
            connection.execute(update(synthetic_questions).where(*whole).values(decided))
            connection.execute(update(synthetic_questions).where(*mine).values({**decided, **words}))
            return record(SyntheticQuestion, connection.execute(select(synthetic_questions).where(*mine)).one())

    def remove(self, owner: str, outcomes: Collection[Outcome], ids: Sequence[str] | None = None) -> int:
        """Delete the questions with these outcomes, of these `ids` (None: of all); return how many there were."""
        chosen = delete(synthetic_questions).where(_C.owner == owner, _C.outcome.in_(list(outcomes)))
        chosen = chosen if ids is None else chosen.where(_C.id.in_(ids))
        with self._database.write() as connection:
            return connection.execute(chosen).rowcount


def remove(connection: Connection, document_id: str, owner: str) -> None:
    """Delete the owner's questions about a document within a transaction."""
    connection.execute(delete(synthetic_questions).where(_C.document_id == document_id, _C.owner == owner))
