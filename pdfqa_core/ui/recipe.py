"""The recipe of the Retrieval tab as a form: which settings it shows, what they are called, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import gradio as gr

from pdfqa_core.errors import UsageError
from pdfqa_core.services import Services
from pdfqa_core.services.choices import names as strategies
from pdfqa_core.settings import ReadingSettings, RetrievalSettings, Settings
from pdfqa_core.ui.components import live_html
from pdfqa_core.ui.refusal_chart import refusal_chart

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "Quick": {"chunking": {"chunker": "paragraphs"}, "retrieval": {"retriever": "bm25", "k": 5}},
    "Balanced": {
        "chunking": {"chunker": "windows", "unit": "words", "size": 120, "step": 60, "headings": True},
        "retrieval": {"retriever": "hybrid", "k": 5},
    },
    "Thorough": {
        "chunking": {"chunker": "windows", "unit": "words", "size": 200, "step": 50, "headings": True},
        "retrieval": {"retriever": "hybrid", "k": 10, "candidates": 300},
    },
}
LATE = "late_interaction"
READ_BY = {
    "": "as each document was read",
    "direct": "the text in the file",
    "pdfplumber": "the text in the file, read by pdfplumber; slower",
    "visual": "OCR where the file has no usable text; slow",
}
CHUNKERS = {
    "paragraphs": "each paragraph of the page is a passage",
    "snippets": "pieces of one length, ending at a sentence end where a range is given",
    "windows": "a window that slides over the text, so that neighbours overlap",
}
RETRIEVERS = {
    "bm25": "counts matching words; instant, no encoder",
    "dense": "compares meanings by an encoder",
    "hybrid": "meaning times matching words (LaPraDoR)",
    "rrf": "adds up the ranks of both",
    "convex": "adds up the scores of both, brought to one scale",
    "late_interaction": "compares every word's meaning; takes most time and disk (ColBERT)",
}
REFUSALS = {
    "none": "every question is answered",
    "retrieval": "how near the passages are to the question; takes a moment",
    "model": "the model is asked whether they answer it; worth more with a larger model",
    "combined": "both together",
}
UNSET = UsageError("A slider has no number.", "Type one, or move it; until then the recipe stays as it was.")

# Models by path or hub name: only on one's own computer, because a visitor of a demo must not load files of the server.
MODEL_FIELDS = (("retrieval", "embedding_model"), ("retrieval", "late_model"), ("retrieval", "reranker"))
# Settings of the recipe in the order of the form; the handlers get their values in this order.
FIELDS = (
    ("chunking", "read_by"), ("chunking", "chunker"), ("chunking", "unit"), ("chunking", "length"),
    ("chunking", "min_length"), ("chunking", "max_length"), ("chunking", "size"), ("chunking", "step"),
    ("chunking", "headings"), ("retrieval", "retriever"), ("retrieval", "k"), ("retrieval", "k1"),
    ("retrieval", "b"), ("retrieval", "language"), ("retrieval", "stemming"), ("retrieval", "stop_words"),
    ("retrieval", "candidates"), ("retrieval", "rrf_k"), ("retrieval", "weight"), ("retrieval", "first_stage"),
    ("retrieval", "per_page"), ("retrieval", "merge_overlaps"), ("retrieval", "rerank_candidates"),
    *((section, name) for section, name in MODEL_FIELDS), ("reading", "reader"),
    ("reading", "passages"), ("reading", "refusal"), ("reading", "confidence_threshold"), ("conversation", "rewriter"),
    ("llm", "max_tokens"),
    ("reading", "prompt_tokens"), ("reading", "question_type"), ("reading", "instruction"),
    ("reading", "citation_threshold"), ("reading", "partly_threshold"), ("reading", "check_meaning"),
)  # fmt: skip
LABELS = {
    ("chunking", "length"): "Length", ("chunking", "min_length"): "or from", ("chunking", "max_length"): "to",
    ("chunking", "size"): "Window size", ("chunking", "step"): "Step", ("retrieval", "k"): "Passages found (k)",
    ("retrieval", "k1"): "BM25 k1", ("retrieval", "b"): "BM25 b", ("retrieval", "candidates"): "Candidates",
    ("retrieval", "rrf_k"): "RRF constant", ("retrieval", "weight"): "Weight of meaning",
    ("retrieval", "per_page"): "Most of one page", ("retrieval", "rerank_candidates"): "Hits read again",
    ("reading", "passages"): "Passages read", ("reading", "confidence_threshold"): "Evidence needed",
    ("llm", "max_tokens"): "Longest answer (tokens)", ("reading", "prompt_tokens"): "Evidence read (tokens)",
    ("reading", "citation_threshold"): "Supported from", ("reading", "partly_threshold"): "Partly supported from",
}  # fmt: skip
WHOLE = {
    "length", "min_length", "max_length", "size", "step", "k", "candidates", "rrf_k", "passages", "max_tokens",
    "per_page", "rerank_candidates", "prompt_tokens",
}  # fmt: skip


def settings_from(values: Sequence[Any], base: Settings, *, models: bool = True) -> Settings:
    """Return `base` with the form's values; the models stay those of `base` where `models` is False.

    Raises UsageError that names the wrong field.
    """
    changes: dict[str, dict[str, Any]] = {}
    for (section, name), value in zip(FIELDS, values, strict=True):
        if (section, name) in MODEL_FIELDS:
            if models:
                changes.setdefault(section, {})[name] = str(value or "").strip()
            continue
        whole = name in WHOLE and isinstance(value, float) and value.is_integer()
        changes.setdefault(section, {})[name] = int(value) if whole else value
    if not changes["chunking"]["min_length"]:
        changes["chunking"]["min_length"] = None
    if not changes["chunking"]["max_length"]:
        changes["chunking"]["max_length"] = None
    try:
        for section, fields in changes.items():
            base = base.changed(section, **fields)
    except UsageError as error:
        raise UsageError(in_words(error.what), error.hint) from error
    return base


def in_words(what: str) -> str:
    """Return what is wrong with a setting, with its field called as on the screen."""
    for (section, name), label in LABELS.items():
        what = what.replace(f"{section}.{name}: ", f"“{label}”: ")
    return what.replace("Input should be a valid number", "type a number").replace(
        "Input should be a valid integer", "type a whole number"
    )


def values_of(settings: Settings) -> list[Any]:
    """Return the form's values for settings."""
    return [getattr(getattr(settings, section), name) for section, name in FIELDS]


def ordered(names: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """Return the names in the order in which the page explains them, others behind."""
    return sorted(names, key=lambda name: list(known).index(name) if name in known else len(known))


def _evidence_fields(reading: ReadingSettings) -> dict[str, Any]:
    """Return what decides whether a question is answered at all, and the curve that tells what it costs."""
    refusal = gr.Radio(
        list(REFUSALS), value=reading.refusal, label="Evidence judged by", info=REFUSALS.get(reading.refusal, "")
    )
    threshold = gr.Slider(
        0, 1, value=reading.confidence_threshold, step=0.01, label="Evidence needed",
        info="Below this the answer is “insufficient context”; 0: always answer", elem_id="recipe-evidence",
    )  # fmt: skip
    curve = live_html(refusal_chart(reading.refusal, reading.confidence_threshold), elem_id="refusal-curve")
    return {"refusal": refusal, "confidence_threshold": threshold, "refusal_curve": curve}


def _model_fields(retrieval: RetrievalSettings, *, visible: bool) -> dict[str, Any]:
    """Return the models by path or hub name."""
    form: dict[str, Any] = {}
    with gr.Accordion("Models", open=False, visible=visible):
        form["embedding_model"] = gr.Textbox(
            retrieval.embedding_model, label="Encoder", placeholder="the bundled all-MiniLM-L6-v2",
            info="Folder or hub name of a sentence-transformers model",
        )  # fmt: skip
        form["late_model"] = gr.Textbox(
            retrieval.late_model, label="Late interaction", placeholder="the bundled encoder, untrained for it",
            info="Folder or hub name of a ColBERT model",
        )  # fmt: skip
        form["reranker"] = gr.Textbox(
            retrieval.reranker, label="Re-ranker", placeholder="none",
            info="Folder or hub name of a cross-encoder that reads the best hits again",
        )  # fmt: skip
    return form


def build_form(services: Services, settings: Settings) -> tuple[dict[str, Any], list[gr.Group]]:
    """Return the recipe's fields by setting name, and the groups that show only for some chunkers."""
    form: dict[str, Any] = {}
    chunking, retrieval = settings.chunking, settings.retrieval
    extractors = ordered(strategies("extractor"), READ_BY)
    form["read_by"] = gr.Radio(
        [("as read", ""), *[(name, name) for name in extractors]],
        value=chunking.read_by,
        label="Text",
        info=READ_BY.get(chunking.read_by, ""),
        elem_id="recipe-text",
    )
    form["chunker"] = gr.Radio(
        ordered(strategies("chunker"), CHUNKERS),
        value=chunking.chunker,
        label="Passages",
        info=CHUNKERS[chunking.chunker],
    )
    with gr.Group(visible=chunking.chunker == "snippets") as snippets, gr.Row():
        form["length"] = gr.Number(chunking.length, label="Length", precision=0)
        form["min_length"] = gr.Number(chunking.min_length, label="or from", precision=0)
        form["max_length"] = gr.Number(chunking.max_length, label="to", precision=0)
    with gr.Group(visible=chunking.chunker == "windows") as windows, gr.Row():
        form["size"] = gr.Number(chunking.size, label="Window size", precision=0)
        form["step"] = gr.Number(chunking.step, label="Step", precision=0)
    form["retriever"] = gr.Radio(
        ordered(strategies("retriever"), RETRIEVERS),
        value=retrieval.retriever,
        label="Retriever",
        info=RETRIEVERS[retrieval.retriever],
    )
    form["k"] = gr.Slider(1, 20, value=retrieval.k, step=1, label="Passages found (k)")
    form["headings"] = gr.Checkbox(
        chunking.headings, label="Index with title and heading", info="Helps when documents resemble each other"
    )
    with gr.Accordion("Answering", open=False):
        form["reader"] = gr.Radio(
            list(strategies("reader")), value=settings.reading.reader, label="Reader",
            info="generative: the language model writes; extractive: the best sentences, word for word",
        )  # fmt: skip
        form["passages"] = gr.Slider(
            1, 10, value=settings.reading.passages, step=1, label="Passages read",
            info="More may help a larger model; each costs time before the first word",
        )  # fmt: skip
        form.update(_evidence_fields(settings.reading))
        form["rewriter"] = gr.Radio(
            list(strategies("rewriter")), value=settings.conversation.rewriter, label="Follow-up questions",
            info="none: searched as typed; concatenation: with terms of earlier questions; llm: rewritten by the model",
        )  # fmt: skip
        form["max_tokens"] = gr.Slider(
            16, 1024, value=settings.llm.max_tokens, step=16, label="Longest answer (tokens)"
        )
        form["question_type"] = gr.Radio(
            list(get_args(ReadingSettings.model_fields["question_type"].annotation)),
            value=settings.reading.question_type, label="Questions",
            info="What kind of answer the prompt asks for: a fact, a description, yes or no; auto: by the question",
        )  # fmt: skip
        form["prompt_tokens"] = gr.Number(
            settings.reading.prompt_tokens, label="Evidence read (tokens)", precision=0,
            info="The best sentences of the passages, as many as fit; 0: whole passages",
        )  # fmt: skip
        form["instruction"] = gr.Textbox(
            settings.reading.instruction, label="Instruction", placeholder="by the type of the question",
            info="The end of the prompt",
        )  # fmt: skip
        with gr.Row():
            form["citation_threshold"] = gr.Slider(
                0, 1, value=settings.reading.citation_threshold, step=0.01, label="Supported from",
                info="How well a sentence must match its passage",
            )  # fmt: skip
            form["partly_threshold"] = gr.Slider(
                0, 1, value=settings.reading.partly_threshold, step=0.01, label="Partly supported from",
                info="Below this it counts as not found",
            )  # fmt: skip
        form["check_meaning"] = gr.Checkbox(
            settings.reading.check_meaning, label="Compare meaning too",
            info="Answers with passages, where the retriever has an encoder; else words alone",
        )  # fmt: skip
    with gr.Accordion("Evidence shown", open=False):
        form["merge_overlaps"] = gr.Checkbox(
            retrieval.merge_overlaps, label="Overlapping passages as one", info="Fewer repetitions, longer passages"
        )
        form["per_page"] = gr.Slider(
            0, 10, value=retrieval.per_page, step=1, label="Most of one page", info="0: any number"
        )
    with gr.Accordion("Words", open=False):
        form["language"] = gr.Dropdown(
            list(get_args(RetrievalSettings.model_fields["language"].annotation)), value=retrieval.language,
            label="Language", info="Whose stop words and stems BM25 knows",
        )  # fmt: skip
        form["stemming"] = gr.Checkbox(
            retrieval.stemming, label="Compare stems", info="“insured” finds “insurance”, and sometimes too much"
        )
        form["stop_words"] = gr.Checkbox(
            retrieval.stop_words, label="Leave out stop words", info="“the”, “of”, … of the question"
        )
        with gr.Row():
            form["k1"] = gr.Number(retrieval.k1, label="BM25 k1", info="term saturation")
            form["b"] = gr.Number(retrieval.b, label="BM25 b", info="length normalisation")
    form.update(_model_fields(retrieval, visible=not services.settings.server.demo))
    with gr.Accordion("More", open=False):
        form["unit"] = gr.Radio(
            ["words", "tokens"], value=chunking.unit, label="Lengths in", info="tokens: of the embedding model"
        )
        with gr.Row():
            form["candidates"] = gr.Number(retrieval.candidates, label="Candidates", info="per list", precision=0)
            form["rrf_k"] = gr.Number(retrieval.rrf_k, label="RRF constant", precision=0)
        with gr.Row():
            form["weight"] = gr.Number(
                retrieval.weight, label="Weight of meaning", info="convex: the rest is BM25's", step=0.1
            )
            form["rerank_candidates"] = gr.Number(
                retrieval.rerank_candidates, label="Hits read again", info="by the re-ranker", precision=0
            )
        form["first_stage"] = gr.Dropdown(
            ["none", *(name for name in ordered(strategies("retriever"), RETRIEVERS) if name != LATE)],
            value=retrieval.first_stage, label="First stage of late_interaction",
            info="Orders this retriever's candidates; none: all passages",
        )  # fmt: skip
    return form, [snippets, windows]
