import re
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
from punkt import load_model

from pdfqa_core.languages import STOP_WORDS
from pdfqa_core.text import ABBREVIATIONS, addresses, content_terms, sentences, terms, words

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "sample" / "harbour-heat.md"


def pieces(text, spans):
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there!", ["One here.", "Two there!"]),
        ("As Smith et al. show in Fig. 3, it holds. So?", ["As Smith et al. show in Fig. 3, it holds.", "So?"]),
        ("A heading\n\nThen text.", ["A heading", "Then text."]),
        ("A line\nbreak is no end.", ["A line\nbreak is no end."]),
        ("It costs 3.5 dollars. Fine.", ["It costs 3.5 dollars.", "Fine."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text, expected):
    assert pieces(text, sentences(text)) == expected


def plain_nltk():
    model, parameters = load_model("english"), PunktParameters()
    parameters.abbrev_types, parameters.collocations = model.abbrev_types, model.collocations
    parameters.sent_starters = model.sent_starters
    parameters.ortho_context.update(model.ortho_context)
    return PunktSentenceTokenizer(parameters)


PLAIN = plain_nltk()


def test_sentences_of_paragraphs_without_our_abbreviations_are_those_of_nltk():
    ours = re.compile(rf"\b({'|'.join(map(re.escape, ABBREVIATIONS))})\.", re.IGNORECASE)
    paragraphs = re.split(r"\n\s*\n", SAMPLE.read_text(encoding="utf-8"))
    compared = [part for part in paragraphs if not ours.search(part) and "|\n" not in part]
    assert len(compared) > 20
    for part in compared:
        assert pieces(part, sentences(part)) == PLAIN.tokenize(part)


@given(st.text(alphabet='aB.,)" !?1é漢', max_size=80))
def test_sentences_of_a_line_are_those_of_nltk(text):
    assert pieces(text, sentences(text)) == [part for part in PLAIN.tokenize(text) if part.strip()]


@given(st.text(alphabet="aB. !?\n\t1é漢", max_size=80))
def test_sentences_hold_every_word_once_and_in_order(text):
    spans = sentences(text)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert "".join("".join(pieces(text, spans)).split()) == "".join(text.split())


@given(st.text(max_size=80))
def test_words_are_what_split_finds(text):
    assert pieces(text, words(text)) == text.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Plan's 1,800.50 costs", ["the", "plan's", "1,800.50", "costs"]),
        ("ﬁnance STRASSE straße", ["finance", "strasse", "strasse"]),
        ("out-of-network", ["out", "of", "network"]),
        ("naïve 漢字", ["naïve", "漢字"]),
        ("10⁶ cells, 4,512³ units", ["10", "6", "cells", "4,512", "3", "units"]),
        ("years¹ on 25 m² of H₂O", ["years", "1", "on", "25", "m2", "of", "h2o"]),
        ("?!", []),
        ("nai\u0308ve Mu\u0308nchen", ["na\u00efve", "m\u00fcnchen"]),  # decomposed, as macOS writes it
        ("हिन्दी में लिखी गई रिपोर्ट", ["हिन्दी", "में", "लिखी", "गई", "रिपोर्ट"]),
        ("বাংলা தமிழ் العَرَبِيَّة עִבְרִית", ["বাংলা", "தமிழ்", "العَرَبِيَّة", "עִבְרִית"]),
        ("می\u200cخواهم infor\u00admation İstanbul", ["میخواهم", "information", "istanbul"]),
        ("北京大学", ["北京", "京大", "大学"]),
        ("iPhoneの地図は5,200枚、水。", ["iphone", "の地", "地図", "図は", "5,200", "枚", "水"]),
        ("\uff76\uff9e\uff72\uff84\uff9e \uff11\uff12", ["ガイ", "イド", "12"]),  # half and full width
        ("ท่าเรือ", ["ท่า", "าเ", "เรื", "รือ"]),
        ("မြန်မာ ខ្មែរ", ["မြန်", "န်မာ", "ខ្មែ", "មែរ"]),
        ("5.2 × 10⁶, 4,512³, 5½ m² H₂O", ["5.2", "10", "6", "4,512", "3", "5", "1", "2", "m2", "h2o"]),
    ],
)
def test_terms(text, expected):
    assert terms(text) == expected


@given(st.text(max_size=60))
def test_a_text_has_the_same_terms_however_its_accents_are_encoded(text):
    assert terms(normalize("NFD", text)) == terms(normalize("NFC", text))


def test_content_terms_leave_stop_words_out_unless_nothing_else_is_there():
    assert content_terms("What is the deductible?") == ["deductible"]
    assert content_terms("What is the?") == ["what", "is", "the"]
    assert content_terms("") == []
    assert {word.casefold() for word in STOP_WORDS} == STOP_WORDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Visit https://a.test/x?y=1. Now", ["https://a.test/x?y=1"]),
        ("![t](HTTP://pix.test/t.png?q=a)", ["HTTP://pix.test/t.png?q=a"]),
        ("(see www.a-b.de), über.de or a.b.com/now!", ["www.a-b.de", "über.de", "a.b.com/now"]),
        ("Example.com, or WWW.X.COM", ["Example.com", "WWW.X.COM"]),
        ("write to x.y@z.co.uk!", ["x.y@z.co.uk"]),
        ("tel:+49123 and mailto:a@b.test", ["tel:+49123", "mailto:a@b.test"]),
        ("It costs 3.5 kg, e.g. 2.00 a.m. (i.e. z.B.) in the U.S., Fig.3, v1.2, end.The 4.20euros", []),
        ("https:// www.", []),
    ],
)
def test_addresses(text, expected):
    assert pieces(text, addresses(text)) == expected


@given(st.text(alphabet="aA1.-@:/w \n)", max_size=60))
def test_addresses_stand_apart_and_end_in_no_mark(text):
    found = addresses(text)
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    assert all(one and one[-1] not in ".)" and not re.search(r"\s", one) for one in pieces(text, found))
