"""Makes gpt_training.safetensors: ten training steps of a small GPT in PyTorch, for gpt_training_test.cpp.

An implementation of its own on torch.nn.functional, in float64 so that its rounding does not matter. The file holds the
initial weights, the batches, the losses of ten AdamW steps (clipped at norm 1, decay 0.1 on matrices) and the gradients
of the first. Needs: pip install torch safetensors numpy. Run: python make_gpt_training.py
"""

import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

V, POSITIONS, C, LAYERS, HEADS, BATCH, STEPS = 13, 8, 12, 2, 3, 3, 10


def initial_weights():
    g = torch.Generator().manual_seed(1)

    def normal(*shape, std=0.2):
        return (torch.randn(*shape, generator=g, dtype=torch.float64) * std).float().double()

    w = {"wte.weight": normal(V, C), "wpe.weight": normal(POSITIONS, C)}
    for i in range(LAYERS):
        h = f"h.{i}."
        w[h + "ln_1.weight"], w[h + "ln_1.bias"] = 1 + normal(C), normal(C)
        w[h + "attn.c_attn.weight"], w[h + "attn.c_attn.bias"] = normal(C, 3 * C), normal(3 * C)
        w[h + "attn.c_proj.weight"], w[h + "attn.c_proj.bias"] = normal(C, C), normal(C)
        w[h + "ln_2.weight"], w[h + "ln_2.bias"] = 1 + normal(C), normal(C)
        w[h + "mlp.c_fc.weight"], w[h + "mlp.c_fc.bias"] = normal(C, 4 * C), normal(4 * C)
        w[h + "mlp.c_proj.weight"], w[h + "mlp.c_proj.bias"] = normal(4 * C, C), normal(C)
    w["ln_f.weight"], w["ln_f.bias"] = 1 + normal(C), normal(C)
    return {name: value.float().double().requires_grad_() for name, value in w.items()}


def logits_of(w, ids):
    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    for i in range(LAYERS):
        h = f"h.{i}."
        n = F.layer_norm(x, (C,), w[h + "ln_1.weight"], w[h + "ln_1.bias"], 1e-5)
        qkv = n @ w[h + "attn.c_attn.weight"] + w[h + "attn.c_attn.bias"]
        q, k, v = (t.view(*t.shape[:2], HEADS, C // HEADS).transpose(1, 2) for t in qkv.split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + y @ w[h + "attn.c_proj.weight"] + w[h + "attn.c_proj.bias"]
        n = F.layer_norm(x, (C,), w[h + "ln_2.weight"], w[h + "ln_2.bias"], 1e-5)
        m = F.gelu(n @ w[h + "mlp.c_fc.weight"] + w[h + "mlp.c_fc.bias"], approximate="tanh")
        x = x + m @ w[h + "mlp.c_proj.weight"] + w[h + "mlp.c_proj.bias"]
    return F.layer_norm(x, (C,), w["ln_f.weight"], w["ln_f.bias"], 1e-5) @ w["wte.weight"].T


def main():
    w = initial_weights()
    out = {name: value.detach().float() for name, value in w.items()}
    g = torch.Generator().manual_seed(2)
    ids = torch.randint(V, (STEPS, BATCH, POSITIONS), generator=g)
    targets = torch.randint(V, (STEPS, BATCH, POSITIONS), generator=g)
    out["ids"], out["targets"] = ids.int(), targets.int()
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in w.values() if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in w.values() if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=1e-2,
        betas=(0.9, 0.99),
    )
    losses = []
    for step in range(STEPS):
        loss = F.cross_entropy(logits_of(w, ids[step]).flatten(0, 1), targets[step].flatten())
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out.update({"grad." + name: p.grad.float() for name, p in w.items()})
        torch.nn.utils.clip_grad_norm_(list(w.values()), 1.0)
        optimizer.step()
    out["losses"] = torch.tensor(losses, dtype=torch.float64)
    path = pathlib.Path(__file__).with_name("gpt_training.safetensors")
    save_file({name: value.contiguous() for name, value in out.items()}, path)
    print(path, losses)


if __name__ == "__main__":
    main()
