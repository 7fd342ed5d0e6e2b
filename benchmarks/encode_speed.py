"""How fast the program encodes passages, against SentenceTransformer.encode itself at its best batch size.

The same model (the bundled one), the same passages: windows of 120 words over data/sample, as often as needed, in every
form of encoder_forms.py and through the program's own encoder, as it was chosen on this computer. Then a second index
with another chunker over the same documents: how many texts it encodes that were not known.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from encoder_forms import TORCH, forms  # noqa: E402

from pdfqa_core.chunking import Snippets, Windows  # noqa: E402
from pdfqa_core.extraction.process.worker import read_document  # noqa: E402
from pdfqa_core.models import graphs_path  # noqa: E402
from pdfqa_core.retrieval import Encoder, Index, bundled_model_path  # noqa: E402
from pdfqa_core.settings import LLMSettings  # noqa: E402

BATCHES = (4, 8, 16, 32, 64)
ROUNDS = 4


class Counting(Encoder):
    """The program's encoder, which notes how many passages it encodes."""

    encoded = 0

    def encode(self, texts: Sequence[str], *, question: bool = False, **options: object) -> np.ndarray:
        """Return the vectors of the texts."""
        self.encoded += 0 if question else len(texts)
        return super().encode(texts, question=question, **options)  # type: ignore[arg-type]


def rebuilt(pages: Sequence[object], folder: Path) -> None:
    """Print how many texts each index encodes."""
    encoder = Counting(graphs=graphs_path(LLMSettings()))
    chunkers = {
        "windows 100/50": [Windows(size=100, step=50)],
        "windows 100/50 and 100/100": [Windows(size=100, step=50), Windows(size=100, step=100)],
        "windows 100/100": [Windows(size=100, step=100)],
        "snippets of 60": [Snippets(length=60)],
    }
    for name, made_by in chunkers.items():
        passages = [passage for chunker in made_by for passage in chunker.chunk(pages)]  # type: ignore[arg-type]
        before = encoder.encoded
        providers = {passages[0].document_id: lambda passages=passages: passages}
        Index.open_or_build(folder, name, providers, encoder=encoder, embeddings=True)
        print(f"  {name:<28} {len(passages):4} passages, {encoder.encoded - before:4} encoded")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under 45 s")
    count = 32 if parser.parse_args().quick else 96
    from sentence_transformers import SentenceTransformer

    pdfs = sorted((ROOT / "data" / "sample").glob("*.pdf"))
    pages = read_document(pdfs[0], "sample").pages
    texts = [passage.text for passage in Windows(size=120, step=7).chunk(pages)]
    texts = [texts[number % len(texts)] for number in np.random.default_rng(0).permutation(count)]
    plain = SentenceTransformer(str(bundled_model_path()), device="cpu", local_files_only=True)
    ours = Encoder(graphs=graphs_path(LLMSettings()))
    others = forms()
    ours.encode(texts[:8])
    plain.encode(texts[:8])
    for form in others.values():
        form.encode(texts[:8])
    print(f"{count} passages of 120 words, best of {ROUNDS} rounds in turn; the ratio, and its range over the rounds")
    seconds: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for batch in BATCHES:
            began = time.perf_counter()
            plain.encode(texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False)
            seconds.setdefault(f"plain, batches of {batch}", []).append(time.perf_counter() - began)
        for name, form in others.items():
            began = time.perf_counter()
            form.encode(texts)
            seconds.setdefault(name, []).append(time.perf_counter() - began)
        began = time.perf_counter()
        ours.encode(texts)
        seconds.setdefault("ours", []).append(time.perf_counter() - began)
    rates = {name: count / min(taken) for name, taken in seconds.items()}
    for name, rate in rates.items():
        each = [base / own for base, own in zip(seconds[TORCH], seconds[name], strict=True)]
        ratio = f"{rate / rates[TORCH]:.2f} [{min(each):.2f}, {max(each):.2f}]"
        print(f"  {name:<26} {rate:6.1f} passages/s, {ratio} x {TORCH}")
    with tempfile.TemporaryDirectory() as folder:
        print("indexes of the same document, one after the other:")
        rebuilt(pages, Path(folder))
    best = max(rate for name, rate in rates.items() if name.startswith("plain"))
    print(f"ours ({ours.form}) / best plain setting: {rates['ours'] / best:.2f}")


if __name__ == "__main__":
    main()
