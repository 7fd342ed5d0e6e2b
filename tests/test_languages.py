"""Which language a text is in, and the rules of languages other than English."""

from __future__ import annotations

import pytest

from pdfqa_core.languages import KNOWN, UNKNOWN, of_document, of_question, rules_of, snowball, stop_words, title
from pdfqa_core.text import compared_terms, content_terms, sentences

TEXTS = {
    "german": "Der Mietvertrag kann von beiden Seiten mit einer Frist von drei Monaten gekündigt werden. Die Kaution "
    "beträgt drei Monatsmieten und wird nach dem Auszug zurückgezahlt.",
    "english": "Either side may end the lease with three months of notice. The deposit is three times the monthly rent "
    "and is paid back after the tenant has moved out.",
    "french": "Le bail peut être résilié par les deux parties avec un préavis de trois mois. Le dépôt de garantie "
    "s'élève à trois mois de loyer et il est remboursé après le départ.",
    "spanish": "El contrato de alquiler puede ser rescindido por ambas partes con un preaviso de tres meses. La fianza "
    "es de tres mensualidades y se devuelve después de la mudanza.",
    "italian": "Il contratto di locazione può essere disdetto da entrambe le parti con un preavviso di tre mesi. La "
    "cauzione ammonta a tre mensilità e viene restituita dopo il trasloco.",
    "portuguese": "O contrato de arrendamento pode ser rescindido por ambas as partes com um aviso prévio de três "
    "meses. A caução é de três rendas mensais e é devolvida depois da mudança.",
    "dutch": "De huurovereenkomst kan door beide partijen worden opgezegd met een termijn van drie maanden. De borg "
    "bedraagt drie maanden huur en wordt na het vertrek terugbetaald.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_document_is_told_by_its_text(language):
    assert of_document([TEXTS[language]]) == language
    assert title(language) == language.capitalize()


def test_one_page_of_another_language_and_pages_of_numbers_do_not_decide():
    assert of_document([TEXTS["german"]] * 4 + [TEXTS["english"]] + ["12 | 13 | 14\n" * 40]) == "german"


@pytest.mark.parametrize(
    "texts", [[], [""], ["42"], ["Seite 3"], ["Test " * 60], [TEXTS["german"], TEXTS["english"]]], ids=str
)
def test_what_is_too_short_or_too_mixed_is_unknown_and_treated_as_english(texts):
    assert of_document(texts) == UNKNOWN
    assert (rules_of(UNKNOWN), title(UNKNOWN)) == ("english", "")


def test_a_language_without_rules_is_named_and_treated_as_english():
    japanese = "契約は三か月前の通知により終了することができます。保証金は家賃の三か月分です。" * 4
    assert of_document([japanese]) == "japanese"
    assert (rules_of("japanese"), title("japanese")) == ("english", "Japanese")


def test_a_question_is_in_one_of_the_documents_languages():
    assert of_question("Wie hoch ist die Kaution?", {"german", "english"}) == "german"
    assert of_question("How large is the deposit?", {"german", "english"}) == "english"
    assert of_question("what if I lose my keycard", {"german", "english"}) == "english"  # by its function words
    assert of_question("Wer ist der General Manager?", {"german", "english"}) == "german"
    assert of_question("Wie hoch ist die Kaution?", {"english"}) == "english"  # nothing else to choose from
    assert of_question("42", {"german", "english"}) == ""
    assert of_question("Anything", ()) == ""


@pytest.mark.parametrize(
    ("language", "text", "count"),
    [
        ("german", "Siehe Abb. 3 und Tab. 2 auf S. 14. Das gilt z. B. für Hr. Dr. Müller, d. h. auch für Nr. 5.", 2),
        ("german", "Er kam am 3. Oktober bzw. ging (vgl. Kap. 4). Es kostet ca. 3,5 Mio. Euro.", 2),
        ("french", "Selon M. Dupont, cf. fig. 3, le prix est de 3 € p. ex. en mai. Voir l'art. 5 et la p. 14.", 2),
        ("spanish", "El Sr. Pérez vive en la Av. Central, núm. 5. Véase la fig. 3 y la pág. 14.", 2),
        ("italian", "Il sig. Rossi vede la fig. 3 a pag. 14, cfr. cap. 2. L'art. 5 vale.", 2),
        ("portuguese", "O Sr. Silva, cf. fig. 3 na pág. 14. O art. 5 vale.", 2),
        ("dutch", "Dhr. Jansen ziet fig. 3 op blz. 14, d.w.z. nr. 5. Daarna ging hij weg.", 2),
        ("japanese", "One sentence. Another one.", 2),  # no rules: as in English
    ],
)
def test_abbreviations_of_a_language_end_no_sentence(language, text, count):
    found = [text[start:end] for start, end in sentences(text, language)]
    assert len(found) == count, found


@pytest.mark.parametrize("language", sorted(KNOWN))
def test_every_known_language_has_stop_words_and_stems(language):
    assert len(stop_words(language)) > 20
    assert len(snowball(language, ["hospitals", "42", "\ud800"])) == 3


def test_stop_words_and_stems_follow_the_language():
    assert content_terms("Was ist die Frist?", "german") == ["frist"]
    assert "die" in content_terms("Was ist die Frist?")
    assert compared_terms("die Kündigungsfristen", "german") == compared_terms("der Kündigungsfrist", "german")
    assert compared_terms("hospitals") == ["hospitals"]  # English is compared as it is written


@pytest.mark.parametrize(
    ("language", "joined", "plain"),
    [("french", "l’appartement", "appartement"), ("italian", "dell'affitto", "affitto")],
)
def test_a_joined_article_is_no_part_of_a_word(language, joined, plain):
    assert snowball(language, [joined]) == snowball(language, [plain])
