"""Makes probe/: what probing the checkpoints beside it must give, by transformers in float64.

NAME.npy (written by numpy): the residual stream after every block at the last position of two stimuli,
[2, layers, channels], float32. NAME.json: the token ids of the stimuli and the eight tokens that follow greedily.
    python make_probe.py
Needs: pip install numpy torch transformers.
"""

import json
import pathlib

import numpy
import torch
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
MODELS = {"gpt2": HERE / "tiny_gpt2", "llama": HERE / "tiny_llama" / "llama2"}
STIMULI = [[3, 14, 1, 5, 9], [2, 7, 1]]


def hidden_states(model, ids):
    trunk = model.transformer.h if hasattr(model, "transformer") else model.model.layers
    stream = []
    hooks = [
        block.register_forward_hook(lambda m, i, o: stream.append((o[0] if isinstance(o, tuple) else o)[0, -1]))
        for block in trunk
    ]
    model(torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    return torch.stack(stream)


def continuation(model, ids):
    ids = list(ids)
    start = len(ids)
    for _ in range(8):
        best = torch.topk(model(torch.tensor([ids])).logits[0, -1], 2)
        assert best.values[0] - best.values[1] > 1e-2, "too close to be decided in single precision"
        ids.append(int(best.indices[0]))
    return ids[start:]


def main():
    (HERE / "probe").mkdir(exist_ok=True)
    for name, folder in MODELS.items():
        model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").double().eval()
        with torch.no_grad():
            hidden = torch.stack([hidden_states(model, ids) for ids in STIMULI])
            stimuli = [{"ids": ids, "continuation": continuation(model, ids)} for ids in STIMULI]
        numpy.save(HERE / "probe" / f"{name}.npy", hidden.float().numpy())
        (HERE / "probe" / f"{name}.json").write_text(json.dumps(stimuli) + "\n")
        print(name, tuple(hidden.shape), stimuli)


if __name__ == "__main__":
    main()
