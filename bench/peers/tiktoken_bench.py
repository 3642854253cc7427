#!/usr/bin/env python3
"""GPT-2's tokenizer by tiktoken on one thread, beside ours: MB/s on the same files, in turns, medians.

    pip install tiktoken
    python3 bench/peers/tiktoken_bench.py --vocab FOLDER [--ours build/bench/tokenizer_bench] [--rounds N] file ...

FOLDER has encoder.json and vocab.bpe (or vocab.json and merges.txt). Without --ours only tiktoken is timed. Both must
give as many tokens. Time is the processor's on both sides, so that other work on the machine counts little; `best`
compares the fastest rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import tiktoken
from tiktoken.load import data_gym_to_mergeable_bpe_ranks

# As tiktoken itself has it for "gpt2": the published expression with possessive quantifiers, which are faster.
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


def gpt2(folder):
    for vocab, merges in (("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt")):
        paths = [os.path.join(folder, name) for name in (merges, vocab)]
        if all(map(os.path.exists, paths)):
            ranks = data_gym_to_mergeable_bpe_ranks(vocab_bpe_file=paths[0], encoder_json_file=paths[1])
            special = {"<|endoftext|>": 50256}
            return tiktoken.Encoding(name="gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)
    sys.exit(f"{folder} has no vocabulary of GPT-2")


def time_tiktoken(encoding, text, seconds=0.5):
    """Fastest pass of about half a second of them, and the number of tokens."""
    best, spent, tokens = float("inf"), 0.0, 0
    while spent < seconds:
        start = time.process_time()
        tokens = len(encoding.encode_ordinary(text))
        passed = time.process_time() - start
        best, spent = min(best, passed), spent + passed
    return best, tokens


def time_ours(program, folder, path):
    """bytes/s of warm and cold passes, and the number of tokens."""
    command = [program, "--vocab", folder, path, "--benchmark_format=json", "--benchmark_filter=encode",
               "--benchmark_min_time=0.2", "--benchmark_repetitions=3"]
    runs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["benchmarks"]
    rates = {}
    for run in runs:
        if run["run_type"] == "iteration":
            kind = run["name"].split("/")[1]
            rates[kind] = max(rates.get(kind, 0.0), run["bytes_per_second"])
    return rates, int(runs[0]["tokens"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--ours")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    encoding = gpt2(options.vocab)
    print(f"tiktoken {tiktoken.__version__}, one thread, {options.rounds} rounds in turns; MB/s")
    for path in options.files:
        with open(path, "rb") as file:
            content = file.read()
        text = content.decode("utf-8")
        theirs, warm, cold = [], [], []
        for _ in range(options.rounds):
            seconds, tokens = time_tiktoken(encoding, text)
            theirs.append(len(content) / seconds / 1e6)
            if options.ours:
                rates, our_tokens = time_ours(options.ours, options.vocab, path)
                assert our_tokens == tokens, f"{path}: {our_tokens} tokens, tiktoken has {tokens}"
                warm.append(rates["warm"] / 1e6)
                cold.append(rates["cold"] / 1e6)
        line = f"{os.path.basename(path):28} {len(content):9} bytes  tiktoken {statistics.median(theirs):6.1f}"
        for name, ours in (("warm", warm), ("cold", cold)):
            if ours:
                ratios = [a / b for a, b in zip(ours, theirs)]
                line += (f"   {name} {statistics.median(ours):6.1f} = {statistics.median(ratios):5.1f} x"
                         f" (best {max(ours) / max(theirs):.1f})")
        print(line, flush=True)


if __name__ == "__main__":
    main()
