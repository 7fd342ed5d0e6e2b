"""How fast the bundled encoder makes vectors in each form, and as the program chose it here, against torch in 32 bits.

The same passages for all: windows of 120 words over data/sample, as often as needed. Rounds in turn; printed are
passages a second in the fastest round, the ratio to torch, and its range over the rounds. Beside them
`SentenceTransformer.encode` itself at several batch sizes. Last the ratio of the program's encoder to the best of
these. `retrieval.py --forms` tells what each form finds.

    python benchmarks/encode_speed.py [--quick]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import ROOT, options, read, rounds, row

from pdfqa_core.chunking import Windows
from pdfqa_core.models import graphs_path
from pdfqa_core.retrieval import Encoder, bundled_model_path
from pdfqa_core.retrieval.onnx_graph import EXACT, INT8, Graph
from pdfqa_core.settings import LLMSettings

BATCH, ROUNDS = 8, 4
BATCHES = (4, 8, 16, 32, 64)  # of the plain library
TORCH = "torch fp32"


@dataclass
class Form:
    """An encoder at the protocol of an index; `run(texts, question)` returns vectors of length 1."""

    name: str
    run: Callable[[list[str], bool], Any]

    @property
    def model_hash(self) -> str:
        """Its name: vectors of forms are never mixed."""
        return self.name

    def encode(self, texts: Sequence[str], *, question: bool = False, **_: object) -> np.ndarray:
        """Return one vector per text, longest first in batches of 8."""
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        found = np.zeros((len(texts), 384), dtype=np.float32)
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            found[places] = self.run([texts[place] for place in places], question)
        return found


def forms() -> dict[str, Form]:
    """Return the encoder in all forms by name; those with plain weights of 8 bits are made in a temporary folder."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    encoder = Encoder(graphs=graphs_path(LLMSettings()))
    made, folder = encoder.made, encoder._folder
    if made is None or folder is None or {EXACT, INT8} - set(made.files):
        raise SystemExit("Not all forms of the encoder can be made here: see `pdfqa doctor`.")
    graphs = {"ONNX Runtime fp32": folder.open(EXACT), "int8 smoothed": folder.open(INT8)}
    for name, per_channel in (("int8 per channel", True), ("int8 per tensor", False)):
        file = Path(tempfile.mkdtemp()) / "plain.onnx"
        quantize_dynamic(folder.file(EXACT), file, per_channel=per_channel, weight_type=QuantType.QInt8)
        graphs[name] = Graph(file, graphs["ONNX Runtime fp32"].tokenizer_file, made)
    found = {TORCH: Form(TORCH, Encoder()._vectors)}
    for name, graph in graphs.items():
        found[name] = Form(name, lambda texts, question, graph=graph: graph.encode(texts, question=question))
    return found


def main() -> None:
    count = 32 if options(__doc__).parse_args().quick else 96
    from sentence_transformers import SentenceTransformer

    pages = next(iter(read(ROOT / "data" / "sample").values()))
    texts = [passage.text for passage in Windows(size=120, step=7).chunk(pages)]
    texts = [texts[number % len(texts)] for number in np.random.default_rng(0).permutation(count)]
    library = SentenceTransformer(str(bundled_model_path()), device="cpu", local_files_only=True)
    plain = partial(library.encode, texts, normalize_embeddings=True, show_progress_bar=False)
    ours = Encoder(graphs=graphs_path(LLMSettings()))
    ways: dict[str, Callable[[], object]] = {
        **{f"plain, batches of {size}": partial(plain, batch_size=size) for size in BATCHES},
        **{name: partial(form.encode, texts) for name, form in forms().items()},
        "ours": partial(ours.encode, texts),
    }
    seconds = rounds(ways, ROUNDS)
    print(f"{count} passages of 120 words, best of {ROUNDS} rounds in turn")
    for name, taken in seconds.items():
        each = [base / own for base, own in zip(seconds[TORCH], taken, strict=True)]
        ratio = f"{min(seconds[TORCH]) / min(taken):.2f} [{min(each):.2f}, {max(each):.2f}]"
        row(f"  {name}", f"{count / min(taken):.1f} passages/s, {ratio} x {TORCH}", first=26)
    best = min(min(taken) for name, taken in seconds.items() if name.startswith("plain"))
    print(f"ours ({ours.form}) / best plain setting: {best / min(seconds['ours']):.2f}")


if __name__ == "__main__":
    main()
