"""Train a low-rank adapter (LoRA, Hu et al. 2021) for a language model of the GGUF format and write it as a GGUF file.

The examples are those of adapter_data.py. The quantised weights are trained with as they are, so that the adapter suits
the file that the program runs. First the model answers the `hinted` prompts, which tell the gold answer; where its
sentence has that answer, it becomes the reply to the prompt without the hint. Then the adapter is trained on all
replies; every twentieth example is kept back, and its loss and share of right yes-or-no answers are printed before and
after. A GPU takes minutes, a processor days.
Needs peft, accelerate and gguf beside what requirements.txt installs.

    python benchmarks/adapter_train.py MODEL.gguf EXAMPLES.jsonl OUT.gguf [--seconds N] [--epochs N]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf.quants import dequantize
from peft import LoraConfig, get_peft_model
from torch.nn.functional import cross_entropy, pad
from transformers import Qwen2Config, Qwen2ForCausalLM

RANK, ALPHA = 16, 32.0
RATE = 2.5e-4
WARM = 15  # steps
BATCH = 9_000  # tokens
WRITTEN = 72  # tokens of a sentence of the model's own
BACK = 20  # every so manieth example is kept back
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip
PARTS = ("prompt", "reply", "hinted")  # of an example, as tokens
Row = dict[str, Any]
BEGAN = time.monotonic()


def say(*words: object) -> None:
    print(f"{time.monotonic() - BEGAN:6.1f} s", *words, flush=True)


def field(reader: gguf.GGUFReader, name: str) -> Any:
    return reader.fields[name].contents()


def numbered(rows: Sequence[Row], end: int) -> list[int]:
    """Give the tokens of all examples new numbers, in place; return which tokens occur, the end token too."""
    used = sorted({end, *(token for row in rows for part in PARTS for token in row.get(part, ()))})
    new = {token: number for number, token in enumerate(used)}
    for row in rows:
        row.update({part: [new[token] for token in row[part]] for part in PARTS if part in row})
    return used


def load(reader: gguf.GGUFReader, used: Sequence[int], device: str) -> tuple[Qwen2ForCausalLM, list[str]]:
    """Return a model of the Qwen2 family with the file's weights, and how the tokens that are used are spelled.

    Other tokens are left out of its vocabulary, which a fifth of a small model's weights are for.
    """
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    spellings = field(reader, "tokenizer.ggml.tokens")
    tokens = [spellings[token] for token in used]
    config = Qwen2Config(
        vocab_size=len(tokens), hidden_size=field(reader, "qwen2.embedding_length"),
        intermediate_size=field(reader, "qwen2.feed_forward_length"),
        num_hidden_layers=field(reader, "qwen2.block_count"),
        num_attention_heads=field(reader, "qwen2.attention.head_count"),
        num_key_value_heads=field(reader, "qwen2.attention.head_count_kv"),
        rms_norm_eps=field(reader, "qwen2.attention.layer_norm_rms_epsilon"),
        rope_theta=field(reader, "qwen2.rope.freq_base"),
        rope_parameters={"rope_type": "default", "rope_theta": field(reader, "qwen2.rope.freq_base")},
        tie_word_embeddings=False,
    )  # fmt: skip
    with torch.device("meta"):
        model = Qwen2ForCausalLM(config)

    def weight(name: str) -> torch.Tensor:
        tensor = tensors[name]
        shape = [int(n) for n in reversed(tensor.shape)]
        data = tensor.data
        if name in ("token_embd.weight", "output.weight"):
            data, shape = np.ascontiguousarray(data[used]), [len(used), shape[1]]
        values = dequantize(data, tensor.tensor_type).reshape(shape)
        return torch.from_numpy(np.array(values, np.float32)).to(device, torch.bfloat16)

    def named(parameter: str) -> str:
        if parameter.startswith("model.layers."):
            _, _, number, rest = parameter.split(".", 3)
            part, kind = rest.rsplit(".", 1)
            return f"blk.{number}.{NAMES[part]}.{kind}"
        outer = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
        return outer.get(parameter) or ("output.weight" if "output.weight" in tensors else "token_embd.weight")

    parameters = [name for name, _ in model.named_parameters()]
    with ThreadPoolExecutor() as pool:
        found = dict(zip(parameters, pool.map(lambda name: weight(named(name)), parameters), strict=True))
    model.load_state_dict(found, assign=True)
    model.model.rotary_emb = type(model.model.rotary_emb)(config).to(device)
    return model.eval().requires_grad_(False), tokens


def spelled(tokens: Sequence[str], numbers: Sequence[int]) -> str:
    """Return the text of tokens of a byte-level vocabulary, in which each byte is a character of its own."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    table = {chr(byte): byte for byte in shown} | {chr(256 + n): byte for n, byte in enumerate(hidden)}
    text = "".join(tokens[number] for number in numbers)
    return bytes(table.get(character, 32) for character in text).decode("utf-8", "replace")


@torch.inference_mode()
def sentences(model: Any, rows: Sequence[Row], tokens: Sequence[str], end: int, device: str, until: float) -> list[Row]:
    """Return examples of the model's own sentences, where they have the gold answer that their prompts told."""
    found: list[Row] = []
    ordered = sorted(rows, key=lambda row: len(row["hinted"]))
    tried = 0
    for start in range(0, len(ordered), 96):
        if time.monotonic() - BEGAN > until:
            break
        some = ordered[start : start + 96]
        longest = max(len(row["hinted"]) for row in some)
        ids = torch.full((len(some), longest), end, device=device)
        mask = torch.zeros_like(ids)
        for place, row in enumerate(some):
            ids[place, longest - len(row["hinted"]) :] = torch.tensor(row["hinted"], device=device)
            mask[place, longest - len(row["hinted"]) :] = 1
        written = model.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=WRITTEN, do_sample=False, pad_token_id=end,
            eos_token_id=end,
        )[:, longest:].tolist()  # fmt: skip
        for row, whole in zip(some, written, strict=True):
            tried += 1
            if end not in whole:
                continue
            reply = whole[: whole.index(end)]
            text = spelled(tokens, reply)
            said = " ".join(re.findall(r"\w+", text.casefold()))
            gold = [" ".join(re.findall(r"\w+", part.casefold())) for part in row["gold"].split("; ")]
            plain = not re.search(r"the answer is|answer:|\n", text, re.IGNORECASE)
            if plain and len(said.split()) >= 5 and all(part in said for part in gold):
                found.append({**row, "task": "answer", "reply": [*reply, end]})
                if len(found) % 100 == 1:
                    say(f"  gold {row['gold']!r}: {text!r}")
    say(f"own sentences with the gold answer: {len(found)} of {tried}")
    return found


def batches(rows: Sequence[Row], rng: random.Random) -> Iterator[list[Row]]:
    """Yield batches of about BATCH tokens, of similar lengths, in a drawn order."""
    ordered = sorted(rows, key=lambda row: len(row["prompt"]) + rng.random() * 60)
    found: list[list[Row]] = [[]]
    for row in ordered:
        longest = max(len(other["prompt"]) + len(other["reply"]) for other in [*found[-1], row])
        if found[-1] and longest * (len(found[-1]) + 1) > BATCH:
            found.append([])
        found[-1].append(row)
    rng.shuffle(found)
    yield from found


def losses(model: Any, rows: Sequence[Row], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each example's mean loss over its reply, and the logits of the reply's first token."""
    texts = [torch.tensor(row["prompt"] + row["reply"], device=device) for row in rows]
    longest = max(map(len, texts))
    ids = torch.stack([pad(text, (0, longest - len(text))) for text in texts])
    mask = torch.stack([pad(torch.ones_like(text), (0, longest - len(text))) for text in texts])
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    hidden = base.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    places = [
        (n, p) for n, row in enumerate(rows) for p in range(len(row["prompt"]) - 1, len(texts[n]) - 1)
    ]  # the token before each of the reply
    at = torch.tensor(places, device=device)
    logits = base.lm_head(hidden[at[:, 0], at[:, 1]]).float()
    each = cross_entropy(logits, ids[at[:, 0], at[:, 1] + 1], reduction="none")
    lengths = torch.bincount(at[:, 0], minlength=len(rows))
    summed = torch.zeros(len(rows), device=device).index_add(0, at[:, 0], each)
    firsts = torch.cumsum(lengths, 0) - lengths
    return summed / lengths, logits[firsts]


@torch.inference_mode()
def kept_back(model: Any, rows: Sequence[Row], device: str) -> str:
    """Return the loss on the examples kept back, and of yes and no the share right and the area under the curve."""
    model.eval()
    replies = {tuple(row["reply"]) for row in rows if row["task"] != "answer"}
    loss: dict[str, list[float]] = defaultdict(list)
    odds: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    yes = {tuple(row["reply"]): row["yes"] for row in rows if row["task"] != "answer"}
    tokens = {said: reply[0] for reply, said in yes.items()}
    for batch in batches(rows, random.Random(0)):
        each, logits = losses(model, batch, device)
        for row, value, scores in zip(batch, each.tolist(), logits, strict=True):
            name = f"{row['task']} {row['data']}"
            loss[name].append(value)
            if row["task"] != "answer" and len(replies) == 2:
                odds[name].append((float(scores[tokens[True]] - scores[tokens[False]]), row["yes"]))
    lines = []
    for name, values in sorted(loss.items()):
        line = f"  {name}: loss {np.mean(values):.3f}, n {len(values)}"
        if pairs := odds.get(name):
            a, b = [o for o, y in pairs if y], [o for o, y in pairs if not y]
            above = np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b]) if a and b else math.nan
            line += f", right {np.mean([(o > 0) == y for o, y in pairs]):.3f}, AUC {above:.3f}"
        lines.append(line)
    return "\n".join(lines)


def train(model: Any, rows: Sequence[Row], device: str, epochs: float, until: float) -> None:
    """Train the adapter; the learning rate falls to nothing over the time or the epochs, whichever ends first."""
    model.train()
    weights = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=RATE, weight_decay=0.0, betas=(0.9, 0.99))
    rng = random.Random(1)
    began, step, seen, recent = time.monotonic() - BEGAN, 0, 0, []
    while True:
        for batch in batches(rows, rng):
            now = time.monotonic() - BEGAN
            share = max(seen / (epochs * len(rows)), (now - began) / max(1e-9, until - began))
            if share >= 1:
                say(f"{step} steps, {seen} examples, {seen / len(rows):.2f} times through them")
                return
            for group in optimiser.param_groups:
                group["lr"] = RATE * min((step + 1) / WARM, 0.5 * (1 + math.cos(math.pi * share)))
            with torch.autocast(device, torch.bfloat16):
                each, _ = losses(model, batch, device)
            each.mean().backward()
            norm = torch.nn.utils.clip_grad_norm_(weights, 1.0)
            seen += len(batch)
            if torch.isfinite(norm) and torch.isfinite(each).all():
                optimiser.step()
                step += 1
                recent.append(each.mean().item())
            else:
                say("  a batch whose gradient is no number was left out")
            optimiser.zero_grad()
            if step % 25 == 0:
                say(f"step {step}: loss {np.mean(recent[-25:]):.3f}")


def write(model: Any, file: Path) -> None:
    """Write the adapter as llama.cpp reads it."""
    writer = gguf.GGUFWriter(file, "qwen2")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, ALPHA)
    for name, value in model.named_parameters():
        if "lora_" in name:
            number, part, which = re.search(r"layers\.(\d+)\.(.+)\.lora_([AB])\.", name).groups()  # type: ignore[union-attr]
            writer.add_tensor(
                f"blk.{number}.{NAMES[part]}.weight.lora_{which.lower()}",
                value.detach().float().cpu().numpy().astype(np.float16),
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def adapted(model: Any) -> Any:
    """Return the model with a new adapter."""
    config = LoraConfig(
        r=RANK, lora_alpha=ALPHA, lora_dropout=0.05,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],  # with the others prompts are read a quarter slower
    )  # fmt: skip
    found = get_peft_model(model, config)
    for parameter in found.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("examples", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=3600, help="until the adapter is written, about")
    parser.add_argument("--epochs", type=float, default=2.5)
    chosen = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    rows = [json.loads(line) for line in chosen.examples.read_text("utf-8").splitlines()]
    reader = gguf.GGUFReader(chosen.model)
    end = field(reader, "tokenizer.ggml.eos_token_id")
    used = numbered(rows, end)
    end = used.index(end)
    model, tokens = load(reader, used, device)
    say(f"loaded on {device}, {len(rows)} examples, {sum(len(row['prompt']) for row in rows):,} tokens")
    hinted = [row for row in rows if row["task"] == "hinted"]
    rows = [row for row in rows if row["task"] != "hinted"]
    rows += sentences(model, hinted, tokens, end, device, chosen.seconds * 0.3)
    for row in rows:
        if row["task"] != "answer":
            row["yes"] = spelled(tokens, row["reply"]) == "Yes"
    random.Random(3).shuffle(rows)
    back, used = rows[::BACK], [row for n, row in enumerate(rows) if n % BACK]
    say(f"training on {len(used)}, kept back {len(back)}; before:\n{kept_back(model, back, device)}")
    model = adapted(model)
    train(model, used, device, chosen.epochs, chosen.seconds)
    write(model, chosen.out)
    say(f"written; after:\n{kept_back(model, back, device)}")


if __name__ == "__main__":
    main()
