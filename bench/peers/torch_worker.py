"""Training, generation, rows and loading by PyTorch, as a user would write it; pip install torch safetensors.

Eager: nn.functional, scaled_dot_product_attention, AdamW (fused). Works and arguments are those of bench/worker.
"""
import torch
import torch.nn.functional as F

from worker import serve

GPT2 = dict(layers=12, channels=768, heads=12, vocabulary=50257, positions=1024)


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


def train(layers, channels, heads, vocabulary, batch, length):
    model = Gpt(layers, channels, heads, vocabulary, length)
    ids = torch.randint(vocabulary, (batch, length))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


# Names of the published checkpoint, whose matrices are stored [in, out].
NAMES = {"attn": "attn.c_attn", "proj": "attn.c_proj", "fc": "mlp.c_fc", "out": "mlp.c_proj"}


def checkpoint_name(name):
    parts = name.split(".")
    if parts[0] == "blocks":
        parts[0], parts[2] = "h", NAMES.get(parts[2], parts[2])
    return ".".join(parts)


@torch.inference_mode()
def load(path, length):
    from safetensors.torch import load_file

    ids = torch.randint(GPT2["vocabulary"], (1, length))

    def call():
        with torch.device("meta"):
            model = Gpt(**GPT2)
        stored = load_file(path)
        state = {}
        for name in model.state_dict():
            tensor = stored[checkpoint_name(name)]
            turned = name.startswith("blocks") and tensor.dim() == 2
            state[name] = tensor.t() if turned else tensor
        model.load_state_dict(state, assign=True)
        with torch.inference_mode():
            model(ids, last_only=True)

    return call


def network(sizes, loss_of, optimizer_of, x):
    """100 training steps of a network with one hidden layer of tanh."""
    a, b, c = sizes
    w1, b1 = (torch.randn(a, b) * 0.5).requires_grad_(), torch.zeros(b, requires_grad=True)
    w2, b2 = (torch.randn(b, c) * 0.5).requires_grad_(), torch.zeros(c, requires_grad=True)
    optimizer = optimizer_of([w1, b1, w2, b2])

    def call():
        for _ in range(100):
            loss = loss_of(torch.tanh(x @ w1 + b1) @ w2 + b2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return call


def circle():
    labels = torch.randint(2, (256,))
    return network((2, 16, 2), lambda y: F.cross_entropy(y, labels),
                   lambda weights: torch.optim.AdamW(weights, fused=True), torch.rand(256, 2) * 2 - 1)


def xor():
    target = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    return network((2, 8, 1), lambda y: F.mse_loss(y, target), lambda weights: torch.optim.SGD(weights, lr=0.01),
                   torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))


def chain(count):
    x = (torch.rand(count // 1024, 1024) * 2 - 1).requires_grad_()
    bias = (torch.rand(1024) * 2 - 1).requires_grad_()
    ones = torch.ones_like(x)

    def call():
        x.grad = bias.grad = None
        u = x + bias
        (torch.sigmoid(torch.tanh(u) * u) - u).backward(ones)

    return call


def rows(what, count, columns, direction):
    x = (torch.rand(count, columns) * 2 - 1).requires_grad_()
    weight, bias = torch.ones(columns, requires_grad=True), torch.zeros(columns, requires_grad=True)
    targets = torch.randint(columns, (count,))
    op = {
        "softmax": lambda: F.softmax(x, dim=1),
        "layer_norm": lambda: F.layer_norm(x, (columns,), weight, bias),
        "cross_entropy": lambda: F.cross_entropy(x, targets),
    }[what]
    if direction == "forward":
        return torch.inference_mode()(op)
    ones = torch.ones_like(op())

    def call():
        x.grad = weight.grad = bias.grad = None
        op().backward(ones)

    return call


def make(name, *values):
    torch.manual_seed(1)
    if name in ("softmax", "layer_norm", "cross_entropy"):
        return rows(name, int(values[0]), int(values[1]), values[2])
    if name == "load":
        return load(values[0], int(values[1]))
    return {"train": train, "circle": circle, "xor": xor, "chain": chain}[name](*map(int, values))


serve(make, torch.set_num_threads)
