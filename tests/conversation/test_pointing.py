"""Follow-up questions in other languages than English."""

from __future__ import annotations

import pytest

from pdfqa_core.conversation import Concatenation, LLMRewriter
from pdfqa_core.conversation.follow_ups import Section, follow_ups
from pdfqa_core.conversation.relation import Relation, points_back, topic_terms

FIRST = {
    "german": "Wie hoch ist die Kaution der Wohnung in Berlin?",
    "french": "Quel est le loyer de l'appartement à Lyon ?",
    "spanish": "¿Cuál es el alquiler del piso en Madrid?",
    "italian": "Qual è l'affitto dell'appartamento a Roma?",
    "portuguese": "Qual é o aluguel do apartamento no Porto?",
    "dutch": "Wat is de huur van het huis in Utrecht?",
}


@pytest.mark.parametrize(
    ("language", "question", "added"),
    [
        ("german", "Und wie lange ist die Frist?", "Kaution, Wohnung, Berlin"),
        ("german", "Wann muss sie gezahlt werden?", "Kaution"),
        ("german", "Wie viel kostet das?", "Kaution"),
        ("french", "Et pour le garage ?", "loyer"),
        ("french", "Quand doit-il être payé ?", "loyer"),
        ("spanish", "¿Y la fianza?", "alquiler"),
        ("italian", "E la cauzione?", "Roma"),
        ("portuguese", "E o depósito?", "aluguel"),
        ("dutch", "En de borg?", "huur"),
    ],
)
def test_a_question_that_leans_on_the_one_before_is_completed(language, question, added):
    related, found = Concatenation(language=language).related(question, [(FIRST[language], "")])
    assert related is Relation.FOLLOW_UP
    assert added in found.question


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("german", "Was passiert mit der Wärmepumpe bei einem Stromausfall im Winter?"),
        ("french", "Quelle entreprise a construit la pompe à chaleur du port en hiver ?"),
        ("spanish", "¿Qué empresa construyó la bomba de calor del puerto en invierno?"),
        ("italian", "Quale azienda ha costruito la pompa di calore del porto in inverno?"),
        ("portuguese", "Que empresa construiu a bomba de calor do porto no inverno?"),
        ("dutch", "Welk bedrijf bouwde de warmtepomp van de haven in de winter?"),
    ],
)
def test_a_question_on_something_else_stands_alone(language, question):
    related, _ = Concatenation(language=language).related(question, [(FIRST[language], "")])
    assert related is Relation.NEW_TOPIC


@pytest.mark.parametrize(
    ("language", "question", "points"),
    [
        ("german", "Wie hoch ist die Kaltmiete und wann muss sie bezahlt werden?", False),
        ("german", "Wann muss sie bezahlt werden?", True),
        ("english", "What is mortadella and where is it from?", False),
        ("english", "Why is it famous and who made it?", True),
        ("english", "And where is it from?", True),
        ("english", "Does the plan cover it?", True),
    ],
)
def test_what_the_first_half_of_a_question_names_is_meant_by_the_second(language, question, points):
    assert points_back(question, ["What is the deductible?"], language) is points


def test_words_are_compared_as_index_terms_are_written():
    assert topic_terms("Was heißt Kaution?", "german") == ["kaution"]  # ß becomes ss


def test_a_language_without_rules_has_its_stop_words():
    assert topic_terms("Je výše kauce a nájmu?", "czech") == ["výše", "kauce", "nájmu"]


def test_the_model_rewrites_english_questions_only(fake_llm):
    found = LLMRewriter(fake_llm, language="german").rewrite(
        "Und wie lange gilt das?", [(FIRST["german"], "700 Euro.")]
    )
    assert "Kaution" in found.question
    assert "English questions only" in found.note
    assert fake_llm.history == []


def test_a_heading_is_asked_about_in_its_language():
    (only,) = follow_ups([Section("Kündigungsfristen", "d", 3, language="german")], ["Wie hoch ist die Kaution?"])
    assert only.question == "Was steht zu „Kündigungsfristen“?"
