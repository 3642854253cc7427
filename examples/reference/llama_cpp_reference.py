"""What llama.cpp says about a GGUF file, and how ember compares.

    pip install llama-cpp-python numpy
    python llama_cpp_reference.py MODEL.gguf                       writes MODEL.llama_cpp.json
    python llama_cpp_reference.py MODEL.gguf --ember build/release/examples/ember
    options: --prompt TEXT (again for more; control tokens in it are understood), --ids 1,2,3, --tokens 48, --kv f16|f32

The JSON holds for each prompt its token ids, the greedy continuation, and how far the best logit was ahead at every
step. With --ember, the program continues the same ids greedily. Where the two part, three rows show the logits of both
candidates: llama.cpp's, ember's, and ember's on the same weights dequantised to F32, which is plain float arithmetic.
Last comes how far the logits of each prompt are from that arithmetic.
Both engines round activations to 8 bits before they multiply quantised weights, each in its own way, so close races
may end differently; llama.cpp's caches keys and values in F16 (--kv f32 for its most exact), ember's in F32.
llama.cpp's GELU is a table in half precision: that far a GPT-2's logits are from float arithmetic even in F32.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import llama_cpp
import numpy

PROMPTS = [
    "The history of the Roman Empire begins",
    "1, 2, 3, 4, 5, 6, 7,",
    "def add(a, b):\n",
]


class LlamaCpp:
    def __init__(self, path, kv):
        kind = {"f32": llama_cpp.GGML_TYPE_F32, "f16": llama_cpp.GGML_TYPE_F16}[kv]
        self.llama = llama_cpp.Llama(str(path), n_ctx=1024, logits_all=True, n_threads=1, verbose=False, type_k=kind,
                                     type_v=kind, flash_attn=False)

    def tokens(self, text):
        return self.llama.tokenize(text.encode(), add_bos=True, special=True)

    def logits(self, ids):
        """[tokens, vocabulary] of one pass over all ids."""
        self.llama.reset()
        self.llama.eval(ids)
        return self.llama.scores[: len(ids)].copy()

    def greedy(self, ids, count):
        """The continuation, and the last position's logits at every step."""
        rows = [self.logits(ids)[-1]]
        tokens = [int(rows[0].argmax())]
        while len(tokens) < count:
            self.llama.eval(tokens[-1:])
            rows.append(self.llama.scores[self.llama.n_tokens - 1].copy())
            tokens.append(int(rows[-1].argmax()))
        return tokens, rows


class Ember:
    def __init__(self, program, path):
        self.program, self.path = program, str(path)

    def run(self, command, *arguments):
        line = [self.program, command, "--model", self.path, "--json", *map(str, arguments)]
        return json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)

    def greedy(self, ids, count):
        """Token by token from the first on, so that logits(..., 1) are those by which it chose."""
        return self.run("generate", "--ids", ",".join(map(str, ids)), "--tokens", count, "--temperature", 0, "--chunk",
                        1)["tokens"]

    def logits(self, ids, chunk=0):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "logits.npy"
            self.run("logits", "--ids", ",".join(map(str, ids)), "--output", file, "--chunk", chunk)
            return numpy.load(file)


def compare(ids, tokens, rows, ember, exact):
    ours = ember.greedy(ids, len(tokens))
    parted = next((i for i, (a, b) in enumerate(zip(tokens, ours)) if a != b), min(len(tokens), len(ours)))
    if parted == len(tokens):
        print(f"  the same {parted} tokens; the closest race was won by {closest(rows):.3f}")
        return
    print(f"  the same {parted} tokens, then llama.cpp {tokens[parted]}, ember {ours[parted:parted + 1]}")
    if parted == len(ours):
        return
    prefix, pair = ids + tokens[:parted], [tokens[parted], ours[parted]]
    for name, row in [("llama.cpp", rows[parted]), ("ember", ember.logits(prefix, 1)[-1]),
                      ("float", exact.logits(prefix)[-1])]:
        print(f"    {name:10} {row[pair[0]]:9.4f} {row[pair[1]]:9.4f}   ahead by {row[pair[0]] - row[pair[1]]:8.4f}")


def closest(rows):
    return min(float(numpy.diff(numpy.sort(row)[-2:])[0]) for row in rows)


def distance(a, b):
    return f"at most {numpy.abs(a - b).max():.2g}, rms {numpy.sqrt(((a - b) ** 2).mean()):.2g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--ember")
    parser.add_argument("--prompt", action="append")
    parser.add_argument("--ids", action="append")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--kv", choices=["f16", "f32"], default="f16")
    options = parser.parse_args()

    llama = LlamaCpp(options.model, options.kv)
    prompts = [(text, [int(i) for i in text.split(",")]) for text in options.ids or []]
    prompts += [(text, llama.tokens(text)) for text in options.prompt or ([] if options.ids else PROMPTS)]
    results = []
    for text, ids in prompts:
        tokens, rows = llama.greedy(ids, options.tokens)
        ahead = [float(numpy.diff(numpy.sort(row)[-2:])[0]) for row in rows]
        results.append({"prompt": text, "ids": ids, "greedy": tokens, "ahead": ahead, "rows": rows})

    if options.ember:
        with tempfile.TemporaryDirectory() as folder:
            ember, exact = Ember(options.ember, options.model), Ember(options.ember, pathlib.Path(folder) / "f32.gguf")
            ember.run("quantize", "--type", "f32", "--output", exact.path)
            for result in results:
                print(repr(result["prompt"]))
                ids = result["ids"]
                compare(ids, result["greedy"], result["rows"], ember, exact)
                reference = exact.logits(ids)
                print(f"  logits of the prompt, of a scale of {numpy.abs(reference).max():.3g}, from float arithmetic:")
                print(f"    llama.cpp  {distance(llama.logits(ids), reference)}")
                print(f"    ember      {distance(ember.logits(ids), reference)}")
                print(f"    ember, token by token  {distance(ember.logits(ids, 1), reference)}")
    for result in results:
        del result["rows"]
    output = options.model.with_suffix(".llama_cpp.json")
    output.write_text(json.dumps({"version": llama_cpp.__version__, "kv": options.kv, "prompts": results}, indent=1))
    print("wrote", output)


if __name__ == "__main__":
    main()
