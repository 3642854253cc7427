"""GPT-2's tokenizer by tiktoken, one thread; pip install tiktoken.

tokenize warm|cold VOCABULARY FILE: VOCABULARY is a folder with encoder.json and vocab.bpe, or vocab.json and
merges.txt. tiktoken keeps nothing between calls, so warm and cold are the same.
"""
import os

import tiktoken
from tiktoken.load import data_gym_to_mergeable_bpe_ranks

from worker import serve

# As tiktoken itself has it for "gpt2": the published expression with possessive quantifiers, which are faster.
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


def gpt2(folder):
    for vocab, merges in (("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt")):
        paths = [os.path.join(folder, name) for name in (merges, vocab)]
        if all(map(os.path.exists, paths)):
            ranks = data_gym_to_mergeable_bpe_ranks(vocab_bpe_file=paths[0], encoder_json_file=paths[1])
            special = {"<|endoftext|>": 50256}
            return tiktoken.Encoding(name="gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)
    raise FileNotFoundError(f"{folder} has no vocabulary of GPT-2")


def make(name, _, folder, path):
    assert name == "tokenize", name
    encoding = gpt2(folder)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return lambda: encoding.encode_ordinary(text)


serve(make, lambda threads: None)
