"""Follow-ups through the services: what is searched for, what is kept with the answer, what an evaluation uses."""

import json

from pdfqa_core.evaluation_types import Evaluation
from pdfqa_core.protocols.gold import read_gold
from pdfqa_core.services import LOCAL_OWNER
from tests.services.helpers import LITERAL, SCREEN, asked, built, stored_of
from tests.serving_fakes import QUESTIONS

LLM = LITERAL.changed("conversation", rewriter="llm")


def test_why_the_models_rewriting_was_not_used_is_kept_with_the_answer(open_services, fake_llm):
    services = open_services(LLM, fake_llm)
    first = stored_of(asked(services, SCREEN))
    fake_llm.enqueue(["When was the self-cleaning drum screen fitted?"])
    stored = stored_of(asked(services, "How often was it emptied?", conversation_id=first.conversation_id))
    assert stored.turn.standalone_question == "How often was it emptied?"
    assert "lacks “often”, “emptied”" in stored.turn.answer.rewriting
    kept = services.answers.conversations.get(LOCAL_OWNER, stored.conversation_id).turns[-1]
    assert kept.answer.rewriting == stored.turn.answer.rewriting


def test_a_refused_answer_is_no_part_of_the_history(open_services, fake_llm):
    seen = []
    services = open_services(LITERAL.changed("reading", confidence_threshold=1.0))
    first = stored_of(asked(services, SCREEN))
    assert first.turn.answer.refused
    rewriter, _ = services.answers.rewriter(LITERAL)

    class Watching:
        def rewrite(self, question, history, *, stop=None):
            seen.extend(history)
            return rewriter.rewrite(question, history, stop=stop)

    services.answers.rewriter = lambda *_: (Watching(), "")
    asked(services, "Why?", conversation_id=first.conversation_id)
    assert seen == [(SCREEN, "")]


def test_an_evaluation_searches_follow_ups_the_same_way(open_services, tmp_path):
    services = open_services(LITERAL)
    built(services, LITERAL)
    rows = [QUESTIONS["q05"], QUESTIONS["q06"]]
    file = tmp_path / "gold.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    systems = {name: LITERAL.changed("conversation", rewriter=name) for name in ("none", "concatenation")}
    (found,) = [
        event
        for event in services.evaluation.evaluate_retrieval(LOCAL_OWNER, read_gold(file), systems)
        if isinstance(event, Evaluation)
    ]
    rankings = services.evaluation.kept.rankings(LOCAL_OWNER, found.id)
    assert rankings["none", "q05"].hits == rankings["concatenation", "q05"].hits
    assert rankings["none", "q06"].hits != rankings["concatenation", "q06"].hits
