"""How near two texts are in meaning: vectors from an encoder that is passed in, each text encoded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float32]
Encode: TypeAlias = Callable[[Sequence[str]], Vectors]


class Meaning:
    """The vectors of texts. `encode` returns one row of length 1 per text; the last `limit` texts are remembered."""

    def __init__(self, encode: Encode, limit: int = 4000) -> None:
        self._encode = encode
        self._limit = limit
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return an (n, dimension) array; one call of the encoder for all texts that are not known yet.

        Raises what the encoder raises.
        """
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        missing = list(dict.fromkeys(text for text in texts if text not in found))
        if missing:
            found.update(zip(missing, np.asarray(self._encode(missing), dtype=np.float32), strict=True))
        with self._lock:
            for text in texts:
                self._known[text] = found[text]
                self._known.move_to_end(text)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, 0), dtype=np.float32)

    def forget(self) -> None:
        """Forget the texts."""
        with self._lock:
            self._known.clear()
