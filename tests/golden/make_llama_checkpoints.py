"""Makes tiny_llama/NAME/: random models of the Llama family saved by transformers, and their float64 logits.

config.json and model.safetensors are written by save_pretrained; expected.safetensors holds ids [2, 14], logits, and
the residual stream after the embedding and every block at the last position ("hidden", [2, layers + 1, channels],
the last of them before the final norm).
    python make_llama_checkpoints.py [folder] [length]      a longer length for checks by hand
Needs: pip install torch transformers safetensors.
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import (
    LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config,
    Qwen3ForCausalLM,
)

SIZES = dict(
    vocab_size=29, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=8192, rms_norm_eps=1e-5, initializer_range=0.2,
)
LLAMA3 = dict(
    rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16
)
MODELS = {
    "llama2": (LlamaForCausalLM, LlamaConfig(**SIZES, tie_word_embeddings=False)),
    "llama3": (LlamaForCausalLM, LlamaConfig(**SIZES, rope_theta=500.0, rope_scaling=LLAMA3, tie_word_embeddings=True)),
    "mistral": (MistralForCausalLM, MistralConfig(**SIZES, sliding_window=5, tie_word_embeddings=False)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**SIZES, tie_word_embeddings=True)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**SIZES, head_dim=6, tie_word_embeddings=False)),
}


def make(folder, kind, config, length):
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    model = kind(config).eval()
    with torch.no_grad():  # gains and biases that are not 1 and 0, so that mixing them up shows
        for p in model.parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn_like(p))
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink(missing_ok=True)
    ids = torch.randint(config.vocab_size, (2, length))
    streams = []
    trunk = model.double().model
    hooks = [trunk.embed_tokens.register_forward_hook(lambda m, i, o: streams.append(o[:, -1]))]
    hooks += [
        layer.register_forward_hook(lambda m, i, o: streams.append((o[0] if isinstance(o, tuple) else o)[:, -1]))
        for layer in trunk.layers
    ]
    with torch.no_grad():
        logits = model(ids).logits
    save_file(
        {
            "ids": ids.int(),
            "logits": logits.float().contiguous(),
            "hidden": torch.stack(streams, dim=1).float().contiguous(),
        },
        folder / "expected.safetensors",
    )


def main(root, length=14):
    for name, (kind, config) in MODELS.items():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, kind, config, length)
        print(folder)


if __name__ == "__main__":
    here = pathlib.Path(__file__).with_name("tiny_llama")
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here, int(sys.argv[2]) if len(sys.argv) > 2 else 14)
