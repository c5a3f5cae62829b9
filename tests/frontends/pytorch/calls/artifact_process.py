"""What two processes do with one artifact: the first saves, the second loads. Each prints what it saw, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch

from frontends.pytorch import compile, load, mark_maybe_dynamic


class Block(torch.nn.Module):
    """Attention and a perceptron, as in a language model."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.mixed, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.inner, self.outer = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.dropout = torch.nn.Dropout(0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries, keys, values = self.mixed(self.before(x)).chunk(3, -1)
        scores = torch.softmax(queries @ keys.transpose(-1, -2) * x.shape[-1] ** -0.5, -1)
        x = x + self.dropout(self.out(scores @ values))
        return x + self.outer(torch.nn.functional.gelu(self.inner(self.after(x))))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedded = torch.nn.Embedding(32, 16)
        self.blocks = torch.nn.ModuleList([Block(16) for _ in range(2)])
        self.head = torch.nn.Linear(16, 32)

    def forward(self, tokens: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        x = self.embedded(tokens)
        for block in self.blocks:
            x = block(x)
        return {"logits": self.head(x) * scale}


def tokens(*sizes: int) -> torch.Tensor:
    return torch.arange(sizes[0] * sizes[1]).reshape(sizes) % 32


def bits(x: torch.Tensor) -> list[str]:
    return [value.hex() for value in x.detach().double().flatten()[:8].tolist()] + [
        x.detach().double().sum().item().hex()
    ]


def served(made: Callable[..., object], finished: Callable[[object], None]) -> dict[str, object]:
    """A model that is evaluated."""
    torch.manual_seed(0)
    model = Model().eval()
    compiled = made(model)
    shown, near = {}, True
    with torch.no_grad():
        for sizes in ((2, 5), (3, 7), (1, 4)):
            found, expected = compiled(tokens(*sizes))["logits"], model(tokens(*sizes))["logits"]
            near = near and torch.allclose(found, expected, atol=1e-5)
            shown[str(sizes)] = bits(found)
    finished(compiled)
    return {"near": near, "bits": shown, **state(compiled)}


def trained(made: Callable[..., object], finished: Callable[[object], None]) -> dict[str, object]:
    """A model that is trained, with dropout."""
    torch.manual_seed(0)
    model = Model().train()
    compiled = made(model)
    shown = {}
    for sizes in ((2, 5), (3, 7)):
        for run in (compiled, model):
            torch.manual_seed(1)
            model.zero_grad()
            run(tokens(*sizes), scale=0.5)["logits"].square().mean().backward()
            shown[f"{sizes} {run is compiled}"] = bits(model.blocks[0].inner.weight.grad)
    near = all(
        abs(float.fromhex(one) - float.fromhex(other)) < 1e-4
        for sizes in ((2, 5), (3, 7))
        for one, other in zip(shown[f"{sizes} True"], shown[f"{sizes} False"])
    )
    finished(compiled)
    return {"near": near, "bits": {key: value for key, value in shown.items() if "True" in key}, **state(compiled)}


def automatic(made: Callable[..., object], finished: Callable[[object], None]) -> dict[str, object]:
    """A function whose sizes become symbols when they are seen to differ, of containers, with a mark."""

    def program(given, *, shift=2, name="sum"):
        x, y = given["x"], given["more"][0]
        return getattr(torch.exp(x - y) * shift, name)(-1)

    compiled = made(program)
    near, shown = True, {}
    for rows, columns in ((3, 5), (4, 5), (4, 6), (6, 2)):
        x, y = torch.arange(2.0 * rows * columns).reshape(columns, -1)[:, ::2].t() / 10, torch.ones(columns)
        mark_maybe_dynamic(y, 0)
        found, expected = compiled({"x": x, "more": [y, None]}, shift=3), program({"x": x, "more": [y, None]}, shift=3)
        near = near and torch.allclose(found, expected)
        shown[f"{rows} {columns}"] = bits(found)
    finished(compiled)
    return {"near": near, "bits": shown, **state(compiled)}


def state(compiled) -> dict[str, object]:
    return {
        "variants": [[str(guard) for guard in variant.guards] for variant in compiled.variants],
        "kernels": [bool(variant.running.hosts) or variant.provenance == "restored" for variant in compiled.variants],
        "provenance": [variant.provenance for variant in compiled.variants],
        "fallbacks": [each.reason for each in compiled.fallbacks],
    }


PROGRAMS = {"served": (served, True), "trained": (trained, True), "automatic": (automatic, None)}


def main(what: str, path: str) -> None:
    for name, (program, dynamic) in PROGRAMS.items():
        place = f"{path}-{name}"
        counts: list[int] = []

        def made(fn, place=place, dynamic=dynamic, counts=counts):
            found = load(place, fn) if what == "load" else compile(fn, backend="cpu", dynamic=dynamic)
            counts.append(len(found.variants))
            return found

        def finished(compiled, place=place):
            if what == "save":
                compiled.save(place)

        found = program(made, finished)
        print(json.dumps({"program": name, "before": counts[0], **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
