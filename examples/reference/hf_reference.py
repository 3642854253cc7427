"""What Hugging Face transformers says about the same model files, for `part4_gpt2 compare`.

    pip install torch transformers
    python hf_reference.py models/gpt2

Writes into the model's folder: hf_reference.json (token ids of some texts, the five likeliest next tokens) and
hf_logits.f32 (little-endian float32 logits [tokens, vocabulary] of the first text).
"""

import json
import pathlib
import sys

import torch
import transformers

TEXTS = [
    "The capital of France is",
    "Hello world! It's 2026, and we're testing GPT-2's tokenizer.",
    "   leading spaces, tabs\tand\nnew lines   ",
    "numbers 3.14159 and 1,000,000",
    "مرحبا بكم في عرب رووت",
    "C# is fun 🎉🎉",
]


def main(folder):
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(folder)
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).float().eval()
    ids = tokenizer(TEXTS[0])["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    logits.numpy().astype("<f4").tofile(folder / "hf_logits.f32")
    top = torch.topk(logits[-1], 5)
    reference = {
        "prompt": TEXTS[0],
        "input_ids": ids,
        "top5": [{"id": int(i), "logit": float(v)} for v, i in zip(top.values, top.indices)],
        "tokenizer_tests": [{"text": text, "ids": tokenizer(text)["input_ids"]} for text in TEXTS],
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    (folder / "hf_reference.json").write_text(json.dumps(reference, ensure_ascii=False, indent=1), encoding="utf-8")
    print("wrote", folder / "hf_reference.json", "and", folder / "hf_logits.f32")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "models/gpt2"))
