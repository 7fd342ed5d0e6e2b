"""All settings as data: one frozen pydantic model per part. Builds nothing and reads nothing but what it is given.

Where their values come from is in `settings_sources`. `fingerprint()` names the settings that produced an answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pdfqa_core.errors import UsageError
from pdfqa_core.languages import Language
from pdfqa_core.shipped import SHIPPED, installed

# ----------------------------------------------------------------------------------------------------
# How settings stand on the page: what the form of a recipe and the help of the command line are built from.

TEXT, ANSWERING, EVIDENCE, WORDS, MODELS, MORE = GROUPS = (
    "Text", "Answering", "Evidence shown", "Words", "Models", "Fine points",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Looks:
    """How a setting of the recipe stands on the page; its widget follows from its type. Without `label` it does not.

    `note` is the line below it; `group` the title of the fold that it lies in ("": always in view), where settings of a
    lower `order` come first; `beside`: in one row with the setting before; `slider`: its least and most value and its
    step; `dropdown`: choices that are rarely changed.

    A setting that names a strategy says of which kind (`of`), which other value it may have (`also`: the value, its
    label, its words) and which parameter the strategies offered here may not have (`without`). `words` explain the
    choices of other settings. `parameter` is what strategies call the setting, or what is made of it, where that is
    another name. `local`: only on one's own computer, since a visitor of a demo must not load files of the server.
    """

    label: str = ""
    note: str = ""
    group: str = ""
    order: int = 0
    beside: bool = False
    slider: tuple[float, float, float] | None = None
    dropdown: bool = False
    placeholder: str = ""
    of: str = ""
    also: tuple[str, str, str] | None = None
    without: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    parameter: str = ""
    local: bool = False


def setting(default: Any, description: str, looks: Looks | None = None, **limits: Any) -> Any:
    """Return a field with its help for the command line, how it stands on the page, and its limits (ge, le, …)."""
    return Field(default, description=description, json_schema_extra=asdict(looks or Looks()), **limits)


# ----------------------------------------------------------------------------------------------------
# All settings as data: one frozen pydantic model per part. Builds nothing and reads nothing but what it is given.

BY_MODEL = "auto"  # the reader that suits the language model


class SettingsGroup(BaseModel):
    """A frozen group of settings that refuses unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ExtractionSettings(SettingsGroup):
    """How PDFs are read, and the limits that a file may not exceed."""

    extractor: str = setting("direct", "Reads the text of PDFs.", Looks(of="extractor"))
    tables: bool = Field(True, description="Find tables and keep their rows and columns.")
    visual_pages: Literal["auto", "all"] = Field(
        "auto", description="Pages that extractor visual reads by OCR; auto: only those without usable text."
    )
    workers: int = Field(0, ge=0, le=64, description="Processes that read PDFs side by side; 0: one per core.")
    max_file_mb: int = Field(100, ge=1, description="Largest file that is read, in MB.")
    max_pages: int = Field(2000, ge=1, description="Most pages of one file.")
    max_characters: int = Field(20_000_000, ge=1000, description="Most characters of one file.")
    memory_mb: int = Field(1500, ge=200, description="Memory limit of the reading process, in MB.")
    seconds: int = Field(300, ge=1, description="Wall-clock limit for one file, in seconds.")
    page_seconds: int = Field(60, ge=1, description="Seconds more for each page that is read by OCR.")


class ChunkingSettings(SettingsGroup):
    """How pages become passages. Lengths are in `unit`."""

    chunker: str = setting("windows", "Cuts pages into passages.", Looks("Passages", of="chunker"))
    unit: Literal["words", "tokens"] = setting(
        "words", "What lengths are counted in; tokens: those of the embedding model.",
        Looks("Lengths in", "tokens: of the embedding model", MORE),
    )  # fmt: skip
    length: int = setting(120, "Snippet length when no minimum and maximum are given.", Looks("Length"), ge=5, le=2000)
    min_length: int | None = setting(None, "Shortest snippet.", Looks("or from", beside=True), ge=1, le=2000)
    max_length: int | None = setting(None, "Longest snippet.", Looks("to", beside=True), ge=5, le=4000)
    size: int = setting(120, "Window size.", Looks("Window size"), ge=5, le=2000)
    step: int = setting(60, "How far a window moves on.", Looks("Step", beside=True), ge=1, le=2000)
    unmodified: bool = setting(
        False, "Paragraphs as they stand on the page: none joined, mended or cut.",
        Looks("Paragraphs as they stand", "None is joined with a short neighbour, mended over a page's end, or cut"),
    )  # fmt: skip
    tables: Literal["apart", "in-text"] = setting(
        "apart", "Where tables go: apart, as passages of their own, or in-text, cut with the text around them.",
        Looks("Tables", "apart: passages of their own; in-text: cut with the text around them", MORE),
    )  # fmt: skip
    headings: bool = setting(
        True, "Index passages with the document's title and the nearest heading.",
        Looks("Index with title and heading", "Helps when documents resemble each other", TEXT, 1),
    )  # fmt: skip
    read_by: str = setting(
        "", "Extractor whose reading of the documents is used; empty: the one that counts for each.",
        Looks("Text", group=TEXT, of="extractor", also=("", "as read", "as each document was read")),
    )  # fmt: skip

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        if (self.min_length is None) != (self.max_length is None):
            raise ValueError("min_length and max_length go together")
        if self.min_length is not None and self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length ({self.min_length}) is above max_length ({self.max_length})")
        if self.step > self.size:
            raise ValueError(f"step ({self.step}) is above size ({self.size}): text would be left out")
        return self


class RetrievalSettings(SettingsGroup):
    """How passages are found."""

    retriever: str = setting("hybrid", "Finds the passages that fit a question.", Looks("Retriever", of="retriever"))
    k: int = setting(5, "Passages shown as evidence.", Looks("Passages found (k)", slider=(1, 20, 1)), ge=1, le=100)
    k1: float = setting(1.5, "BM25 term saturation.", Looks("BM25 k1", "term saturation", WORDS, 1), ge=0)
    b: float = setting(
        0.75, "BM25 length normalisation.", Looks("BM25 b", "length normalisation", WORDS, 1, beside=True), ge=0, le=1
    )
    idf: Literal["lucene", "okapi"] = setting(
        "lucene", "How BM25 weighs rare words: lucene (always above 0) or okapi, as in rank-bm25 (0 or less in small "
        "collections).",
        Looks("Rare words weigh", "okapi: as in rank-bm25; a word of half the passages counts nothing", WORDS,
              dropdown=True),
    )  # fmt: skip
    language: Literal["auto", Language] = setting(
        "auto", "Language of stop words and stems in BM25; auto: each document's own.",
        Looks("Language", "Whose stop words and stems BM25 knows; auto: each document's own", WORDS, dropdown=True),
    )  # fmt: skip
    stemming: bool = setting(
        False, "BM25 compares Snowball stems instead of words; those of other languages than English always with auto.",
        Looks("Compare stems", "“insured” finds “insurance”, and sometimes too much; always in other languages", WORDS),
    )  # fmt: skip
    spelling: bool = setting(
        True, "Search for misspelt English words of a question in the spelling of the documents too.",
        Looks("Search for misspelt words", "“insurence” finds “insurance”", WORDS),
    )  # fmt: skip
    stop_words: bool = setting(
        True, "BM25 leaves the language's stop words out of questions.",
        Looks("Leave out stop words", "“the”, “of”, … of the question", WORDS),
    )  # fmt: skip
    embedding_model: str = setting(
        "", "Path or hub name of the encoder, or of a pair: QUESTIONS + PASSAGES; empty: the bundled one.",
        Looks(
            "Encoder", "Folder or hub name of a sentence-transformers model; of a pair: questions + passages", MODELS,
            local=True, placeholder="the bundled all-MiniLM-L6-v2",
        ),
    )  # fmt: skip
    embedding_precision: Literal["auto", "exact", "int8"] = setting(
        "auto", "Weights of the encoder: 8 bits (int8), as they are (exact), or whichever is best on this computer.",
        Looks("Precision of the encoder", "auto: 8 bits where that is faster here", MODELS, dropdown=True),
    )  # fmt: skip
    candidates: int = setting(
        100, "Candidates that combining retrievers take from each list.", Looks("Candidates", "per list", MORE), ge=1
    )
    clamp: bool = setting(
        True, "A negative similarity counts as 0 in hybrid, and passages without a term of the question come last.",
        Looks("Negative similarity counts as 0", "In hybrid; else the product of both scores as it is", MORE),
    )  # fmt: skip
    rrf_k: int = setting(
        60, "Constant of reciprocal rank fusion.", Looks("RRF constant", group=MORE, beside=True), ge=1
    )
    weight: float = setting(
        0.5, "Share of the similarity in convex; the rest is BM25's.",
        Looks("Weight of meaning", "the rest is BM25's", MORE, beside=True), ge=0, le=1,
    )  # fmt: skip
    exact_below: int = setting(
        50_000, "Passages below which dense search is exact; from there on an HNSW graph is searched.",
        Looks(
            "Dense search is exact below (passages)", "Then the question is compared with every passage; in a larger "
            "index an HNSW graph is searched: faster, but it may miss a few", MORE,
        ),
        ge=1,
    )  # fmt: skip
    index: Literal["memory", "lance", "auto"] = Field(
        "memory", description="Where passages are searched: in memory, or on disk by LanceDB (requirements-lance.txt); "
        "auto: on disk from 500,000 passages on, where LanceDB is installed.",
    )  # fmt: skip
    late_model: str = setting(
        "", "Path or hub name of a ColBERT; empty: the bundled encoder, untrained.",
        Looks(
            "Late interaction", "Folder or hub name of a ColBERT model", MODELS, local=True,
            placeholder="the bundled encoder, untrained for it", parameter="token_encoder",
        ),
    )  # fmt: skip
    first_stage: str = setting(
        "none", "Retriever whose candidates late_interaction orders; none: all.",
        Looks(
            "First stage", group=MORE, dropdown=True, of="retriever", without="first", parameter="first",
            also=("none", "none", "every passage is compared"),
        ),
    )  # fmt: skip
    reranker: str = setting(
        "", "Path or hub name of a cross-encoder that reads the best hits again.",
        Looks(
            "Re-ranker", "Folder or hub name of a cross-encoder that reads the best hits again", MODELS, local=True,
            placeholder="none",
        ),
    )  # fmt: skip
    rerank_candidates: int = setting(
        20, "Hits that the re-ranker reads.", Looks("Hits read again", "by the re-ranker", MORE), ge=1, le=1000
    )
    per_page: int = setting(
        0, "Most hits that begin on one page; 0: any number.",
        Looks("Most passages of one page", "0: any number", EVIDENCE, slider=(0, 10, 1)), ge=0,
    )  # fmt: skip
    merge_overlaps: bool = setting(
        True, "Show overlapping passages as one.",
        Looks("Overlapping passages as one", "Fewer repetitions, longer passages", EVIDENCE),
    )  # fmt: skip


class LLMSettings(SettingsGroup):
    """Which language model answers, and how it is run."""

    engine: str = setting("llama_cpp", "Runs the language model.", Looks(of="engine"))
    model: str = Field(
        "auto", description="Name from the catalogue, or path of a GGUF file; auto: the default of this machine."
    )
    models_folder: str = Field("", description="Folder of downloaded models; empty: pdfqa/models of the user's cache.")
    url: str = Field(
        "",
        description="Base URL of an OpenAI-compatible server (engine openai); base models: …/completions.",
    )
    context_size: int = Field(4096, ge=512, le=131072)
    threads: int = Field(0, ge=0, le=1024, description="0: one per physical core, less one while others use it.")
    gpu_layers: int = Field(-1, ge=-1, description="Layers on a GPU; -1: as many as its memory holds, 0: none.")
    batch_size: int = Field(512, ge=16, le=4096, description="Prompt tokens that are read at once.")
    max_tokens: int = setting(
        256, "Longest answer in tokens.",
        Looks("Longest answer (tokens)", group=ANSWERING, slider=(16, 1024, 16)), ge=1, le=8192,
    )  # fmt: skip
    temperature: float = Field(0.0, ge=0, le=2, description="0: always the most likely token.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="The same seed repeats a random answer.")
    top_k: int = Field(40, ge=0, le=1000, description="Most likely tokens to draw from; 0: all.")
    top_p: float = Field(
        0.95, gt=0, le=1, description="Draw from the likeliest tokens that add up to this probability; 1: all."
    )
    min_p: float = Field(0.05, ge=0, le=1, description="Least probability of a token, as a share of the best one's.")
    repeat_penalty: float = Field(1.0, ge=0.5, le=2, description="Divides the score of recent tokens; 1: off.")

    @model_validator(mode="before")
    @classmethod
    def _no_model_named(cls, data: Any) -> Any:
        """Let a server that is asked for no model by name answer with its own; here it is the default one."""
        if isinstance(data, Mapping) and not data.get("model"):
            named = {name: value for name, value in data.items() if name != "model"}
            return named | ({"model": ""} if data.get("engine") == "openai" else {})
        return data


class ReadingSettings(SettingsGroup):
    """How passages become an answer."""

    reader: str = setting(
        BY_MODEL, "Writes the answer from passages; auto: the one that suits the language model.",
        Looks("Reader", group=ANSWERING, of="reader", also=(BY_MODEL, "auto", "own words; quotes with a tiny model")),
    )  # fmt: skip
    plain: bool = setting(
        False, "Plain pipeline, for comparisons: a follow-up is searched as one text with the questions before it, as "
        "it is spelt; whole passages go into one prompt; nothing is judged.",
        Looks("Plain pipeline", "Search, prompt, answer, as papers have it: nothing is judged or cautioned", ANSWERING),
    )  # fmt: skip
    passages: int = setting(
        0, "Passages that go into the prompt; 0: as many as suit the model.",
        Looks(
            "Passages read", "0: as many as suit the model. More costs time before the first word", ANSWERING,
            slider=(0, 10, 1),
        ),
        ge=0, le=20,
    )  # fmt: skip
    refusal: Literal["none", "retrieval", "model", "combined"] = setting(
        "combined", "What decides, before an answer is written, whether the passages answer the question.",
        Looks(
            "Evidence judged by", group=ANSWERING,
            words={
                "none": "every question is answered",
                "retrieval": "how near the passages are to the question; takes a moment",
                "model": "the model is asked whether they answer it",
                "combined": "both together; without a model that can tell, the first alone",
            },
        ),
    )  # fmt: skip
    confidence_threshold: float = setting(
        0.05, "Confidence below which the answer is that nothing was found; 0: never.",
        Looks(
            "Evidence needed", "Below this nothing is answered; 0: always answer", ANSWERING,
            slider=(0, 1, 0.01),
        ),
        ge=0, le=1,
    )  # fmt: skip
    sure_threshold: float = setting(
        0.6, "An answer that is less likely to be right gets a caution, after the lines of the page; 0: never.",
        Looks(
            "Sure from", "How likely an answer must be right to be given without a caution; 0: always", ANSWERING,
            slider=(0, 1, 0.01),
        ),
        ge=0, le=1,
    )  # fmt: skip
    citation_threshold: float = setting(
        0.65, "A sentence gets a tick if a careful reader of the passages agrees at least with this probability.",
        Looks("✓ from", "How sure it must be that the passage says this", ANSWERING, 1, slider=(0, 1, 0.01)),
        ge=0, le=1,
    )  # fmt: skip
    partly_threshold: float = setting(
        0.45, "How well a sentence must match a passage to be cited; below, it counts as not found.",
        Looks("Cited from", "How well a sentence must match a passage", ANSWERING, 1, True, slider=(0, 1, 0.01)),
        ge=0, le=1,
    )  # fmt: skip
    check_meaning: bool = setting(
        True, "Compare answers with passages by meaning too, where the retriever has an encoder.",
        Looks(
            "Compare meaning too", "Answers with passages, where the retriever has an encoder; else words alone",
            ANSWERING, 1,
        ),
    )  # fmt: skip
    prompt_tokens: int = setting(
        0, "Tokens of the passages that the model reads, best sentences first; 0: as many as suit model and machine.",
        Looks(
            "Evidence read (tokens)", "The best sentences of the passages, as many as fit; 0: as suits model and "
            "machine", ANSWERING, 1,
        ),
        ge=0, le=131072,
    )  # fmt: skip
    instruction: str = setting(
        "", "Your instruction at the end of the prompt; empty: that of the model's family.",
        Looks("Instruction", "The end of the prompt", ANSWERING, 1, placeholder="as suits the model"),
        max_length=10_000,
    )  # fmt: skip


class ConversationSettings(SettingsGroup):
    """How follow-up questions become standalone ones."""

    rewriter: str = setting(
        "concatenation", "Completes follow-up questions for the search.",
        Looks("Follow-up questions", group=ANSWERING, of="rewriter"),
    )  # fmt: skip
    turns: int = Field(5, ge=0, le=20, description="Earlier turns that are taken into account.")


class ServerSettings(SettingsGroup):
    """Where the page is served and what a visitor may do."""

    host: str = Field("127.0.0.1", description="Address to listen on; more than this computer's: set PDFQA_PASSWORD.")
    hosts: str = Field("", description="Names in the page's address besides localhost, separated by commas.")
    port: int = Field(7860, ge=0, le=65535, description="0: any free port.")
    demo: bool = Field(False, description="Public demo: every visitor has a workspace of their own.")
    visitor_mb: int = Field(50, ge=1, description="Most MB of PDFs that one visitor of a demo may keep.")
    visitor_hours: int = Field(24, ge=1, description="Hours after which a visitor's data is removed.")
    visitor_pages: int = Field(2000, ge=1, description="Most pages that one visitor of a demo may keep.")
    visitor_seconds: int = Field(1200, ge=10, description="Seconds of reading that one visitor has in an hour.")
    total_mb: int = Field(2000, ge=1, description="Most MB of PDFs of all visitors of a demo together.")
    per_minute: int = Field(1200, ge=1, description="Most requests in a minute from one address to a demo.")
    mode: Literal["research", "simple"] = Field(
        "research", description="What browsers that chose nothing show; simple: Documents, Chat and Models alone."
    )
    mcp: bool = Field(False, description="Offer search, ask, read page and list documents to assistants (MCP).")
    proxied: bool = Field(False, description="Behind a proxy, which names the asking address in X-Forwarded-For.")
    proxies: str = Field(
        "", description="Addresses or networks of the proxies that are believed, separated by commas; "
        "empty with --proxied: this computer's and private ones.",
    )  # fmt: skip
    user_header: str = Field("", description="Header in which the named --proxies name the account.")


# What a recipe that comes in a file may set; all else belongs to this machine.
RECIPE: Mapping[str, tuple[str, ...]] = {
    "extraction": ("extractor", "tables", "visual_pages"),
    "chunking": tuple(ChunkingSettings.model_fields),
    "retrieval": tuple(name for name in RetrievalSettings.model_fields if name != "index"),
    "llm": ("max_tokens", "temperature", "seed", "top_k", "top_p", "min_p", "repeat_penalty"),
    "reading": tuple(ReadingSettings.model_fields),
    "conversation": tuple(ConversationSettings.model_fields),
}


class Settings(SettingsGroup):
    """Everything that can be set."""

    extraction: ExtractionSettings = ExtractionSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    llm: LLMSettings = LLMSettings()
    reading: ReadingSettings = ReadingSettings()
    conversation: ConversationSettings = ConversationSettings()
    server: ServerSettings = ServerSettings()

    def looks(self) -> Iterator[tuple[str, str, Looks]]:
        """Yield section, name and looks of every setting, in the order of declaration."""
        for section in type(self).model_fields:
            for name, info in type(getattr(self, section)).model_fields.items():
                yield section, name, Looks(**(info.json_schema_extra or {}))

    def fingerprint(self) -> str:
        """Return 12 hex digits that name all settings which can change an answer (not where page and files lie)."""
        data = self.model_dump_json(exclude={"server": True, "llm": {"models_folder"}})
        return hashlib.sha256(data.encode()).hexdigest()[:12]

    def changed(self, section: str, **values: Any) -> Settings:
        """Return a copy with `values` in one section, validated. Raises UsageError that names the field."""
        current = getattr(self, section)
        set_ = {**current.model_dump(exclude_unset=True), **values}
        return load({**self.model_dump(exclude_unset=True), section: set_})

    def with_recipe(self, other: Settings) -> Settings:
        """Return these settings with the recipe, reader and sampling of others (`RECIPE`)."""
        data = self.model_dump()
        for section, names in RECIPE.items():
            data[section] |= {name: getattr(getattr(other, section), name) for name in names}
        return load(data)


# Settings of earlier versions. They stand in stored runs and in people's files, and are passed over.
RETIRED: Mapping[str, frozenset[str]] = {
    "llm": frozenset({"adapter", "chat_template", "weights"}), "conversation": frozenset({"new_topic"}),
    "reading": frozenset({"kinds", "second_search", "unsupported", "question_type"}),
    "server": frozenset({"index_address"}),
}  # fmt: skip


def load(data: Mapping[str, Any]) -> Settings:
    """Return settings from nested mappings. Raises UsageError that names each wrong field."""
    known = {
        section: {name: value for name, value in values.items() if name not in RETIRED.get(section, ())}
        if isinstance(values, Mapping)
        else values
        for section, values in data.items()
    }
    try:
        return Settings.model_validate(known)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg'].removeprefix('Value error, ')}"
            for e in error.errors()
        )
        raise UsageError(f"A setting is wrong: {problems}.", "Correct it or leave it out.") from error


# ----------------------------------------------------------------------------------------------------
# Where settings come from, and where workspace and models lie: files, and environment variables.
#
# Later ones win: the defaults of `settings`, `pdfqa.toml` in the workspace, what was chosen on the Models tab,
# environment variables, the command line or the page.

CHOICES = "models.json"  # in the workspace: what was chosen on the Models tab
WHICH_MODEL = ("engine", "model", "url")  # settings that the environment can overrule only together


def read_choices(workspace: Path) -> dict[str, Any]:
    """Return what was chosen on the Models tab (`models.json` in the workspace).

    "llm": settings of the language model, "added": files, "retrieval": the encoder. Raises UsageError if it is damaged.
    """
    file = workspace / CHOICES
    try:
        data = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (ValueError, OSError) as error:
        raise UsageError(f"{file} cannot be read: {error}.", "Remove it; models are chosen anew then.") from error
    if not isinstance(data, dict) or not all(isinstance(data.get(name, {}), dict) for name in ("llm", "retrieval")):
        raise UsageError(f"{file} does not hold choices of models.", "Remove it; models are chosen anew then.")
    return data


def read_settings(workspace: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a workspace: its `pdfqa.toml`, what was chosen on the Models tab, then the environment.

    Environment: PDFQA_LLM_URL, PDFQA_MODEL, PDFQA_MODE, PDFQA_DEMO, GRADIO_SERVER_NAME, GRADIO_SERVER_PORT, PORT,
    PDFQA_HOSTS, and SPACE_ID and SPACE_HOST (on Hugging Face Spaces: demo mode, all interfaces, behind a proxy).
    """
    environ = os.environ if environ is None else environ
    data = _toml(workspace / "pdfqa.toml")
    load(data)  # so that an error in the file is reported even if the environment overrules it
    named = bool(environ.get("PDFQA_MODEL") or environ.get("PDFQA_LLM_URL"))
    for name, value in read_choices(workspace).get("llm", {}).items():
        if not (named and name in WHICH_MODEL):
            data.setdefault("llm", {})[name] = value
    if (encoder := read_choices(workspace).get("retrieval", {}).get("embedding_model")) is not None:
        data.setdefault("retrieval", {})["embedding_model"] = encoder
    load(data)
    for section, name, value in _named(environ):
        data.setdefault(section, {})[name] = value
    return load(data)


def _toml(file: Path) -> dict[str, dict[str, Any]]:
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}.", "Correct the file or remove it.") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Check its permissions.") from error


def _named(environ: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """Yield section, name and value of each setting that the environment gives."""
    if environ.get("SPACE_ID"):
        yield "server", "demo", True
        yield "server", "host", "0.0.0.0"  # noqa: S104 - a Space is reached through its proxy
        yield "server", "proxied", True
    names = [environ[name] for name in ("PDFQA_HOSTS", "SPACE_HOST") if environ.get(name)]
    if names:
        yield "server", "hosts", ",".join(names)
    if environ.get("PDFQA_DEMO"):
        yield "server", "demo", environ["PDFQA_DEMO"].lower() not in ("0", "false", "no", "off")
    if environ.get("PDFQA_MODE"):
        yield "server", "mode", environ["PDFQA_MODE"].lower()
    if environ.get("PDFQA_MODEL"):
        yield "llm", "model", environ["PDFQA_MODEL"]
    if environ.get("PDFQA_LLM_URL"):
        yield "llm", "engine", "openai"
        yield "llm", "url", environ["PDFQA_LLM_URL"]
    if environ.get("GRADIO_SERVER_NAME"):
        yield "server", "host", environ["GRADIO_SERVER_NAME"]
    if port := environ.get("GRADIO_SERVER_PORT") or environ.get("PORT"):
        yield "server", "port", port


def workspace_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the workspace lies: PDFQA_WORKSPACE; on a Space `/data` where it is writable; else `data/`.

    Of a program that pip installed it is `pdfqa` in the user's data folder ($XDG_DATA_HOME, ~/.local/share).
    """
    environ = os.environ if environ is None else environ
    if environ.get("PDFQA_WORKSPACE"):
        return Path(environ["PDFQA_WORKSPACE"]).expanduser().resolve()
    if environ.get("SPACE_ID") and os.access("/data", os.W_OK):
        return Path("/data")
    if installed():
        return Path(environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "pdfqa"
    return SHIPPED / "data" / "workspace"


def models_path(llm: LLMSettings, environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of model files, which all workspaces of a user share.

    PDFQA_MODELS; what the settings name; on a Space `/data/models` where that is writable; else `pdfqa/models` of the
    user's cache ($XDG_CACHE_HOME, ~/.cache).
    """
    environ = os.environ if environ is None else environ
    if named := environ.get("PDFQA_MODELS") or llm.models_folder:
        return Path(named).expanduser().absolute()
    if environ.get("SPACE_ID") and os.access("/data", os.W_OK):
        return Path("/data/models")
    return Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pdfqa" / "models"
