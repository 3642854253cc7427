"""The workloads of bench/workloads.cpp in PyTorch, with the same arguments and the same line of output.

Eager PyTorch as a user would write it: nn.functional, scaled_dot_product_attention, AdamW (fused where the build has
it). Needs: pip install torch.
"""

import sys
import time

import torch
import torch.nn.functional as F


def report(units, unit, seconds, step):
    for _ in range(3):
        step()
    rates = []
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        step()
        rates.append(units / (time.perf_counter() - start))
        if time.perf_counter() >= end and len(rates) >= 5:
            break
    rates.sort()
    middle = rates[len(rates) // 2]
    spread = 100 * (rates[len(rates) * 3 // 4] - rates[len(rates) // 4]) / middle
    print(f"{middle:.6g} {unit} (spread {spread:.0f}%)")


class Gpt(torch.nn.Module):
    def __init__(self, layers, channels, heads, vocabulary, positions):
        super().__init__()
        c = channels
        self.heads = heads
        self.wte = torch.nn.Embedding(vocabulary, c)
        self.wpe = torch.nn.Embedding(positions, c)
        self.blocks = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {
                    "ln_1": torch.nn.LayerNorm(c),
                    "attn": torch.nn.Linear(c, 3 * c),
                    "proj": torch.nn.Linear(c, c),
                    "ln_2": torch.nn.LayerNorm(c),
                    "fc": torch.nn.Linear(c, 4 * c),
                    "out": torch.nn.Linear(4 * c, c),
                }
            )
            for _ in range(layers)
        )
        self.ln_f = torch.nn.LayerNorm(c)

    def forward(self, ids, cache=None, position=0, last_only=False):
        b, t = ids.shape
        x = self.wte(ids) + self.wpe.weight[position : position + t]
        for i, block in enumerate(self.blocks):
            q, k, v = block["attn"](block["ln_1"](x)).split(x.shape[2], dim=2)
            q, k, v = (u.view(b, t, self.heads, -1).transpose(1, 2) for u in (q, k, v))
            if cache is not None:
                cache[i][0][:, :, position : position + t] = k
                cache[i][1][:, :, position : position + t] = v
                k, v = cache[i][0][:, :, : position + t], cache[i][1][:, :, : position + t]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
            x = x + block["proj"](y.transpose(1, 2).reshape(b, t, -1))
            x = x + block["out"](F.gelu(block["fc"](block["ln_2"](x)), approximate="tanh"))
        if last_only:
            x = x[:, -1:]
        return F.linear(self.ln_f(x), self.wte.weight)

    def new_cache(self, length):
        depth = self.wte.weight.shape[1] // self.heads
        return [[torch.zeros(1, self.heads, length, depth) for _ in range(2)] for _ in self.blocks]


def train(model, vocabulary, batch, length, seconds):
    ids = torch.randint(vocabulary, (batch, length))
    targets = torch.randint(vocabulary, (batch, length))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    report(batch * length, "tokens/s", seconds, step)


@torch.inference_mode()
def prefill(model, vocabulary, prompt, seconds):
    ids = torch.randint(vocabulary, (1, prompt))
    cache = model.new_cache(prompt)
    report(prompt, "tokens/s", seconds, lambda: model(ids, cache, 0, last_only=True))


@torch.inference_mode()
def decode(model, vocabulary, prompt, tokens, seconds):
    ids = torch.randint(vocabulary, (1, prompt))
    cache = model.new_cache(prompt + tokens)
    model(ids, cache, 0, last_only=True)

    def step():
        for i in range(tokens):
            model(ids[:, :1], cache, prompt + i, last_only=True)

    report(tokens, "tokens/s", seconds, step)


def circle(seconds):
    x = torch.rand(256, 2) * 2 - 1
    labels = torch.randint(2, (256,))
    parameters = [
        (torch.randn(2, 16) * 0.5).requires_grad_(),
        torch.zeros(16, requires_grad=True),
        (torch.randn(16, 2) * 0.5).requires_grad_(),
        torch.zeros(2, requires_grad=True),
    ]
    w1, b1, w2, b2 = parameters
    optimizer = torch.optim.AdamW(parameters, lr=0.05, fused=True)

    def step():
        for _ in range(100):
            loss = F.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    report(100, "steps/s", seconds, step)


def main(what, *values):
    layers, channels, heads, vocabulary, a, b, threads = map(int, values[:7])
    seconds = float(values[7]) if len(values) > 7 else 3
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    if what == "circle":
        return circle(seconds)
    model = Gpt(layers, channels, heads, vocabulary, b if what == "train" else a + b)
    if what == "train":
        train(model, vocabulary, a, b, seconds)
    elif what == "prefill":
        prefill(model, vocabulary, a, seconds)
    else:
        decode(model, vocabulary, a, b, seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
