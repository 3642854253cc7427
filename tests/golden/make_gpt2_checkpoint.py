"""Makes tiny_gpt2/: a random GPT-2 saved by transformers and what transformers computes with it.

config.json and model.safetensors are written by save_pretrained; expected.safetensors holds ids [2, 12], the float64
logits of the model, and the losses of five AdamW steps on those ids. Other shapes can be made for checks by hand:
    python make_gpt2_checkpoint.py [folder vocabulary positions channels layers heads]
Needs: pip install torch transformers safetensors.
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel


def main(folder, vocabulary=41, positions=24, channels=16, layers=2, heads=4):
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=positions, n_embd=channels, n_layer=layers, n_head=heads,
        bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, initializer_range=0.15,
    )
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():  # biases and gains that are not 0 and 1, so that mixing them up shows
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
    model.save_pretrained(folder, safe_serialization=True)
    length = min(12, positions)
    ids = torch.randint(vocabulary, (2, length))
    with torch.no_grad():
        logits = model.double()(ids).logits

    # Five steps of fine-tuning: predict the next of these ids.
    tuned = GPT2LMHeadModel.from_pretrained(folder).train()
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in tuned.parameters() if p.dim() >= 2], "weight_decay": 0.01},
            {"params": [p for p in tuned.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=1e-3,
    )
    losses = []
    for _ in range(5):
        loss = torch.nn.functional.cross_entropy(tuned(ids[:, :-1]).logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    save_file(
        {"ids": ids.int(), "logits": logits.float().contiguous(), "losses": torch.tensor(losses, dtype=torch.float64)},
        pathlib.Path(folder) / "expected.safetensors",
    )
    (pathlib.Path(folder) / "generation_config.json").unlink(missing_ok=True)  # says nothing we read
    print(folder, losses)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main(pathlib.Path(__file__).with_name("tiny_gpt2"))
