from typing import get_args

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.retrieval import BM25, Index
from pdfqa_core.retrieval.bm25 import AUTO, LANGUAGES, NONE, Analyser
from pdfqa_core.settings import RetrievalSettings
from pdfqa_core.text import content_terms, terms
from tests.retrieval.fakes import passages


def found(index, question, **options):
    return [hit.passage.text for hit in BM25(index, **options).search(question, 9)]


def test_the_setting_offers_the_languages_there_are():
    assert set(get_args(RetrievalSettings.model_fields["language"].annotation)) == {AUTO, NONE, *LANGUAGES}


def test_without_options_the_terms_are_those_of_the_text_module():
    question = "What is the deductible of the Plans?"
    assert Analyser().question_terms(question) == content_terms(question)
    assert Analyser(stop_words=False).question_terms(question) == terms(question)
    assert Analyser(NONE).question_terms(question) == terms(question)


def test_stop_words_alone_stay():
    assert Analyser("german").question_terms("und oder aber") == ["und", "oder", "aber"]


def test_stems_find_other_forms_of_a_word():
    index = Index.in_memory(passages("Vaccinations are covered.", "Coverage of a vaccination.", "Dentists."))
    assert found(index, "vaccination") == ["Coverage of a vaccination."]
    assert set(found(index, "vaccinations covering", stemming=True)) == {p.text for p in index.passages[:2]}
    assert found(index, "vaccination") == ["Coverage of a vaccination."]


def test_german_is_stemmed_as_german():
    index = Index.in_memory(passages("Die Häuser am Hafen.", "Ein Schiff und noch ein Schiff."))
    assert found(index, "Haus im Häusermeer", language="german") == []
    assert found(index, "und die Hauses Häusern", language="german", stemming=True) == ["Die Häuser am Hafen."]


@pytest.mark.parametrize("options", [{"language": "klingon"}, {"language": NONE, "stemming": True}])
def test_what_no_language_offers_is_refused(options):
    with pytest.raises(UsageError, match="anguage"):
        BM25(Index.in_memory(passages("text")), **options)
