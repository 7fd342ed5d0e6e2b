"""A thin layer over llama.cpp's C interface: load, tokenize, evaluate, sample, free.

Knows nothing about chat messages, queues or threads: its caller sees to it that one thread at a time evaluates.
The high-level `llama_cpp.Llama` is not used because it offers neither a loading progress nor a way to stop inside the
prompt, redirects the standard output of the whole process while it loads, and keeps 100 MB of unused scores.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfqa_core.errors import ModelError, StoppedError
from pdfqa_core.interfaces import Sampling
from pdfqa_core.whole_files import unfinished

if TYPE_CHECKING:
    import numpy as np

INSTALL = "pip install llama-cpp-python"
BATCH = 512  # prompt tokens evaluated at once
PENALISED_TOKENS = 64  # how far back repeat_penalty looks, in tokens of the reply

_log = logging.getLogger(__name__)
_recent_errors: list[str] = []


@cache
def library() -> Any:
    """Return llama.cpp's C interface, its messages sent to `logging`. Raises ModelError if it is not installed."""
    try:
        import llama_cpp.llama_cpp as lib
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelError(
            f"The library that runs language models does not load: {error}.",
            f"Install it with: {INSTALL}  (it compiles for 6 to 13 minutes); everything else works without it.",
        ) from error

    @lib.llama_log_callback  # type: ignore[untyped-decorator]
    def take(level: int, text: bytes, _data: object) -> None:
        line = text.decode("utf-8", "replace").strip()
        if level == 4:
            _recent_errors.append(line)
            del _recent_errors[:-5]
        _log.debug("llama.cpp: %s", line)

    library_callbacks.append(take)
    lib.llama_log_set(take, ctypes.c_void_p(0))
    lib.llama_backend_init()
    return lib


library_callbacks: list[Any] = []  # ctypes callbacks live as long as the library may call them


class AbortFlag:
    """A flag that llama.cpp reads between two operations of a running evaluation, without Python's lock.

    The flag is a C string, the callback C's own `strlen`: its length is 0 (go on) or 1 (stop). A callback written in
    Python would wait for the interpreter's lock about a thousand times per token.
    """

    def __init__(self) -> None:
        lib = library()
        self._bytes = ctypes.create_string_buffer(2)
        standard = ctypes.CDLL("msvcrt") if sys.platform == "win32" else ctypes.CDLL(None)
        self.callback = ctypes.cast(standard.strlen, lib.ggml_abort_callback)
        self.data = ctypes.cast(self._bytes, ctypes.c_void_p)

    def set(self, on: bool) -> None:
        """Raise or lower the flag; any thread may."""
        self._bytes[0] = b"\x01" if on else b"\x00"

    def is_set(self) -> bool:
        """Whether the flag is raised."""
        return bool(self._bytes[0] != b"\x00")


def _free(lib: Any, context: Any, model: Any) -> None:
    lib.llama_free(context)
    lib.llama_model_free(model)


class NativeModel:
    """A loaded model with one context, and the tokens whose keys and values the context holds.

    `repack`: llama.cpp lays weights out anew for kernels of its own, which takes memory for a copy of them.
    Raises ModelError if the file does not load, StoppedError if `on_progress` returns False.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_size: int,
        threads: int,
        gpu_layers: int = 0,
        batch_size: int = BATCH,
        repack: bool = False,
        on_progress: Callable[[float], bool] = lambda share: True,
    ) -> None:
        self._lib = lib = library()
        stopped = threading.Event()

        @lib.llama_progress_callback  # type: ignore[untyped-decorator]
        def progress(share: float, _data: object) -> bool:
            if not on_progress(share):
                stopped.set()
            return not stopped.is_set()

        parameters = lib.llama_model_default_params()
        parameters.n_gpu_layers = gpu_layers
        parameters.use_extra_bufts = repack
        parameters.progress_callback = progress
        _recent_errors.clear()
        model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
        if stopped.is_set():
            if model:
                lib.llama_model_free(model)
            raise StoppedError(f"Loading {path.name} was stopped.")
        if not model:
            raise ModelError(
                f"{path.name} does not load: {'; '.join(_recent_errors) or 'llama.cpp gives no reason'}.",
                "Get the file again, or choose another model.",
            )
        self._model = model
        self._vocab = lib.llama_model_get_vocab(model)
        self.layers = int(lib.llama_model_n_layer(model))
        self.threads = threads
        self.abort = AbortFlag()
        try:
            self._context, self.context_size = self._make_context(
                context_size, threads, batch_size, path, flash=gpu_layers != 0
            )
        except ModelError:
            lib.llama_model_free(model)
            raise
        self.batch_size = min(batch_size, self.context_size)
        self._memory = lib.llama_get_memory(self._context)
        self._finalizer = weakref.finalize(self, _free, lib, self._context, model)
        self._pieces: dict[int, bytes] = {}
        self.tokens: list[int] = []

    def _make_context(
        self, context_size: int, threads: int, batch_size: int, path: Path, *, flash: bool
    ) -> tuple[Any, int]:
        lib = self._lib
        parameters = lib.llama_context_default_params()
        parameters.n_ctx = min(context_size, lib.llama_model_n_ctx_train(self._model) or context_size)
        parameters.n_batch = parameters.n_ubatch = min(batch_size, parameters.n_ctx)
        parameters.n_threads = parameters.n_threads_batch = threads
        if not flash:  # on a processor it reads prompts 15 % faster and writes answers 12 % slower
            parameters.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        parameters.abort_callback = self.abort.callback
        parameters.abort_callback_data = self.abort.data
        context = lib.llama_init_from_model(self._model, parameters)
        if not context:
            raise ModelError(
                f"There is not enough memory for {path.name} with a context of {parameters.n_ctx} tokens.",
                "Choose a smaller context or a smaller model.",
            )
        return context, min(int(lib.llama_n_ctx(context)), int(parameters.n_ctx))

    def close(self) -> None:
        """Free the memory. The model cannot be used afterwards."""
        self._finalizer()

    def chat_template(self) -> str:
        """Return the model's chat template (jinja2), "" if it has none."""
        found = self._lib.llama_model_chat_template(self._model, None)
        return found.decode("utf-8", "replace") if found else ""

    def token_text(self, token: int) -> str:
        """Return how the vocabulary spells a token, "" for -1 (none)."""
        return "" if token < 0 else str(self._lib.llama_vocab_get_text(self._vocab, token).decode("utf-8", "replace"))

    @property
    def bos(self) -> str:
        """The token that begins a text, "" if there is none."""
        return self.token_text(self._lib.llama_vocab_bos(self._vocab))

    @property
    def eos(self) -> str:
        """The token that ends a text, "" if there is none."""
        return self.token_text(self._lib.llama_vocab_eos(self._vocab))

    def control_texts(self) -> list[str]:
        """Return the spellings of all control tokens, which a user's text must not contain."""
        lib, vocab = self._lib, self._vocab
        return [
            self.token_text(t) for t in range(lib.llama_vocab_n_tokens(vocab)) if lib.llama_vocab_is_control(vocab, t)
        ]

    def tokenize(self, text: str, *, add_special: bool) -> list[int]:
        """Return the tokens of `text`, control tokens recognised. Safe beside a running evaluation."""
        data = text.encode()
        size = len(data) + 8
        found = (self._lib.llama_token * size)()
        count = self._lib.llama_tokenize(self._vocab, data, len(data), found, size, add_special, True)
        if count < 0:
            raise ModelError("The prompt could not be split into tokens.", "Ask a shorter question.")
        return list(found[:count])

    def piece(self, token: int) -> bytes:
        """Return the bytes that a token stands for; control tokens stand for nothing."""
        known = self._pieces.get(token)
        if known is None:
            buffer = ctypes.create_string_buffer(256)
            size = self._lib.llama_token_to_piece(self._vocab, token, buffer, 256, 0, False)
            known = self._pieces[token] = buffer.raw[: max(0, size)]
        return known

    def is_end(self, token: int) -> bool:
        """Whether the token ends a reply (EOS, EOT, …)."""
        return bool(self._lib.llama_vocab_is_eog(self._vocab, token))

    def keep_prefix(self, tokens: Sequence[int]) -> int:
        """Forget what the context holds beyond its common beginning with `tokens`; return the length kept.

        At least one of `tokens` is left to evaluate, because sampling needs its logits.
        """
        same = 0
        for old, new in zip(self.tokens, tokens[:-1], strict=False):
            if old != new:
                break
            same += 1
        self._truncate(same)
        return len(self.tokens)

    def _truncate(self, length: int) -> None:
        # Recurrent models cannot forget a part: they forget everything.
        if not self._lib.llama_memory_seq_rm(self._memory, 0, length, -1):
            self._lib.llama_memory_clear(self._memory, True)
            length = 0
        del self.tokens[length:]

    def evaluate(self, tokens: Sequence[int]) -> bool:
        """Evaluate at most `batch_size` tokens after those held; return False if the abort flag ended it.

        Of tokens whose evaluation was ended nothing is kept.
        Raises ModelError if llama.cpp fails.
        """
        array = (self._lib.llama_token * len(tokens))(*tokens)
        code = self._lib.llama_decode(self._context, self._lib.llama_batch_get_one(array, len(tokens)))
        if code == 0:
            self.tokens.extend(tokens)
            return True
        self._truncate(len(self.tokens))
        if code == 2 or self.abort.is_set():
            return False
        raise ModelError(f"llama.cpp could not evaluate the text (code {code}).", "Load the model again.")

    def compute_with(self, threads: int) -> None:
        """Evaluate with so many threads from now on."""
        self.threads = threads
        self._lib.llama_set_n_threads(self._context, threads, threads)

    def log_probabilities(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the natural logarithm of each token's probability to come next, (vocabulary,)."""
        import numpy as np

        size = self._lib.llama_vocab_n_tokens(self._vocab)
        logits = np.ctypeslib.as_array(self._lib.llama_get_logits_ith(self._context, -1), (size,))
        found: np.ndarray[Any, np.dtype[np.float64]] = logits.astype(np.float64)
        found -= found.max()
        found -= np.log(np.exp(found).sum())
        return found

    def sampler(self, sampling: Sampling, grammar: str = "") -> Sampler:
        """Return a sampler. Close it after use."""
        return Sampler(self._lib, self._vocab, self._context, sampling, grammar)


class Sampler:
    """Chooses the next token, if a grammar is given only among those that the grammar allows.

    The grammar is first asked about the token that would be chosen without it, and only if it forbids that one about
    the whole vocabulary, which takes several milliseconds. With a repeat penalty it is asked about all of them at once,
    because a token that was tried and not taken must not count as a repetition.
    """

    def __init__(self, lib: Any, vocab: Any, context: Any, sampling: Sampling, grammar: str) -> None:
        self._lib, self._context, self._size = lib, context, lib.llama_vocab_n_tokens(vocab)
        self._chains: list[Any] = []
        self._plain = self._chain(sampling)
        self._grammar = None
        self._penalised = sampling.temperature > 0 and sampling.repeat_penalty != 1
        if grammar:
            self._grammar = lib.llama_sampler_init_grammar(vocab, grammar.encode(), b"root")
            if not self._grammar:
                self.close()
                raise ModelError("The JSON schema could not be turned into a grammar.", "Use a simpler schema.")
            self._strict = self._chain(sampling, self._grammar)

    def _chain(self, sampling: Sampling, first: Any = None) -> Any:
        """Return a chain in llama.cpp's own order: grammar, penalty, top_k, top_p, min_p, temperature, draw."""
        lib = self._lib
        chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        self._chains.append(chain)
        steps = [first] if first else []
        if sampling.temperature <= 0:
            steps.append(lib.llama_sampler_init_greedy())
        else:
            steps += [
                lib.llama_sampler_init_penalties(self._size, PENALISED_TOKENS, sampling.repeat_penalty, 0.0, 0.0),
                lib.llama_sampler_init_top_k(sampling.top_k),
                lib.llama_sampler_init_top_p(sampling.top_p, 1),
                lib.llama_sampler_init_min_p(sampling.min_p, 1),
                lib.llama_sampler_init_temp(sampling.temperature),
                lib.llama_sampler_init_dist(sampling.seed),
            ]
        for step in steps:
            lib.llama_sampler_chain_add(chain, step)
        return chain

    def next(self) -> int:
        """Return the next token after those the model has evaluated."""
        lib = self._lib
        if self._grammar is not None and self._penalised:
            return int(lib.llama_sampler_sample(self._strict, self._context, -1))
        token = int(lib.llama_sampler_sample(self._plain, self._context, -1))
        if self._grammar is None:
            return token
        one = lib.llama_token_data(token, 1.0, 0.0)
        candidates = lib.llama_token_data_array(ctypes.pointer(one), 1, -1, False)
        lib.llama_sampler_apply(self._grammar, ctypes.byref(candidates))
        if one.logit != float("-inf"):
            lib.llama_sampler_accept(self._grammar, token)
            return token
        return int(lib.llama_sampler_sample(self._strict, self._context, -1))

    def close(self) -> None:
        """Free the sampler (the grammar is freed with its chain)."""
        for chain in self._chains:
            self._lib.llama_sampler_free(chain)
        self._chains.clear()


def convert_to_f16(source: Path, target: Path) -> None:
    """Write `source` with all weights as 16-bit floats to `target`, which appears only when it is complete.

    Raises ModelError if the file is not read or the disk is full.
    """
    lib = library()
    parameters = lib.llama_model_quantize_default_params()
    parameters.ftype = lib.LLAMA_FTYPE_MOSTLY_F16
    parameters.allow_requantize = True
    with unfinished(target) as partial:
        code = lib.llama_model_quantize(os.fsencode(source), os.fsencode(partial), parameters)
        if code != 0:
            raise ModelError(f"{source.name} could not be converted (code {code}).", "Check the disk's free space.")
