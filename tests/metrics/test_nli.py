"""Entailment by a cross-encoder: the label order is read, long premises are read in parts, pickles are refused."""

import json
import threading

import pytest

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.metrics.entailment import Tag
from pdfqa_core.metrics.scoring_models import NliCrossEncoder, label_order
from pdfqa_core.models.metrics import nli_tagger

NAMES = ("contradiction", "entailment", "neutral")


def model(folder, names=NAMES, seed=0):
    from tests.retrieval.tiny_models import bert

    folder = bert(folder, labels=len(names), seed=seed)
    name_labels(folder, names)
    return folder


def name_labels(folder, names):
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {str(n): name for n, name in enumerate(names)}
    config["label2id"] = {name: n for n, name in enumerate(names)}
    (folder / "config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return model(tmp_path_factory.mktemp("nli"))


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("ENTAILMENT", "neutral", "Contradiction"), (Tag.ENT, Tag.NEUT, Tag.CONT)),
        (("contradiction", "entailment", "neutral"), (Tag.CONT, Tag.ENT, Tag.NEUT)),
        (("entailment", "not_entailment"), (Tag.ENT, Tag.NEUT)),
    ],
)
def test_the_order_of_labels_is_read(tmp_path, names, order):
    (tmp_path / "config.json").write_text(json.dumps({"id2label": dict(enumerate(names))}))
    assert label_order(tmp_path / "config.json") == order


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('{"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}', "LABEL_0, LABEL_1: which one is entailment is not said"),
        ('{"id2label": {"0": "neutral", "1": "contradiction"}}', "not said"),
        ("{}", "does not name the labels"),
        ("no JSON", "does not name the labels"),
    ],
)
def test_labels_that_do_not_name_entailment_are_refused(tmp_path, config, words):
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ModelError, match=words):
        label_order(tmp_path / "config.json")


def test_the_probabilities_are_those_of_the_model_by_name(tiny):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    pairs = [("the plan is paid", "the copay is covered"), ("a vaccine", "the office dress code a month"), ("the", "a")]
    found = NliCrossEncoder(tiny, batch=2).tag(pairs)
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    network = AutoModelForSequenceClassification.from_pretrained(tiny).eval()
    for (premise, text), hypothesis in zip(pairs, found, strict=True):
        with torch.inference_mode():
            shares = network(**tokenizer(premise, text, return_tensors="pt")).logits[0].softmax(-1)
        (statement,) = hypothesis.statements
        assert hypothesis.text == statement.text == text
        assert statement.probability == pytest.approx(float(shares[1]), abs=1e-5)
        assert statement.tag is {0: Tag.CONT, 1: Tag.ENT, 2: Tag.NEUT}[int(shares.argmax())]
        assert hypothesis.score == float(statement.tag is Tag.ENT)


def test_of_a_long_premise_the_part_that_entails_most_counts(tiny):
    tagger = NliCrossEncoder(tiny)
    sentences = [f"The {word} of the plan is covered and paid a month." for word in ("vaccine", "visit", "copay")] * 4
    hypothesis = "the deductible is paid"
    (whole,) = tagger.tag([(" ".join(sentences), hypothesis)])
    groups = [" ".join(sentences[i:j]) for i in range(12) for j in range(i + 1, 13)]
    alone = [one.statements[0].probability for one in tagger.tag([(group, hypothesis) for group in groups[:200]])]
    assert min(abs(whole.statements[0].probability - share) for share in alone) < 1e-5
    first_part = tagger.tag([(" ".join(sentences[:4]), hypothesis)])[0].statements[0].probability
    assert whole.statements[0].probability >= first_part - 1e-5


def test_empty_texts_are_unscored_and_a_stop_ends_it(tiny):
    tagger = NliCrossEncoder(tiny)
    found = tagger.tag([("", "the plan"), ("the plan", "  "), ("the plan", "the plan")])
    assert [hypothesis.score is None for hypothesis in found] == [True, True, False]
    assert "empty" in found[0].reason
    assert tagger.tag([]) == []
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        tagger.tag([("a", "b")], stop=stop)


def test_by_folder_name_and_not_from_a_pickle(tmp_path, tiny):
    assert nli_tagger(str(tiny)).name == tiny.name
    for file in model(tmp_path / "pickled").glob("*.safetensors"):
        file.rename(file.with_name("pytorch_model.bin"))
    with pytest.raises(ModelError, match=r"can run code when loaded"):
        nli_tagger(str(tmp_path / "pickled"))
    with pytest.raises(ModelError, match=r"which one is entailment"):
        nli_tagger(str(model(tmp_path / "nameless", ("LABEL_0", "LABEL_1"))))
