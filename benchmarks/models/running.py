"""Trace a model, and check its graph against eager.

    >>> import torch
    >>> from benchmarks.models import MODELS, step
    >>> model = MODELS["resnet"]
    >>> module = model.build()
    >>> variant = traced(module, model)
    >>> inputs = model.inputs(3, 9)
    >>> admitted(variant, inputs), agree(module, step(module), variant, inputs)
    (True, True)
    >>> refusing_lines(variant, {"x": torch.randn(2, 4, 32, 32)})
    ['vision.py:50']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from backends import named
from benchmarks.models.model import Model, step
from frontends.pytorch import Variant, trace

Program = Callable[..., Sequence[torch.Tensor | None]]


def traced(module: torch.nn.Module, model: Model, backend: str = "eager") -> Variant:
    """The training step of a module as one graph, traced at the first of its sizes, and run by a backend."""
    variant = trace(step(module), (), model.inputs(*model.sizes[0]))
    variant.run_by(named(backend))
    return variant


def values(variant: Variant, inputs: Mapping[str, object]) -> dict[str, int]:
    """The values of the symbols for these arguments."""
    given = dict(inputs)
    return {
        symbol.name: eval(symbol.source, given)
        for symbol in variant.env.symbols.values()
        if symbol.kind == "backed" and symbol.source is not None
    }


def refusing_lines(variant: Variant, inputs: Mapping[str, object]) -> list[str]:
    """Where the guards came from that refuse these arguments: `file.py:line` of each."""
    known = values(variant, inputs)
    atoms = {atom: known[symbol.name] for atom, symbol in variant.env.symbols.items() if symbol.name in known}
    failing = [guard for guard in variant.guards if not guard.prop.evaluate(atoms)]
    return [f"{guard.origin.name}:{guard.origin.line}" if guard.origin else "" for guard in failing]


def admitted(variant: Variant, inputs: Mapping[str, object]) -> bool:
    """Return True if the guards accept these arguments."""
    return not refusing_lines(variant, inputs)


def agree(module: torch.nn.Module, program: Program, variant: Variant, inputs: Mapping[str, object]) -> bool:
    """Return True if the graph agrees with eager: the loss, all gradients and the running statistics."""
    state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    torch.manual_seed(1)
    expected = program(**inputs)
    after = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    module.load_state_dict(state)
    torch.manual_seed(1)
    found = variant.running.call([value for value in inputs.values() if isinstance(value, torch.Tensor)])
    alike = all(close(one, other) for one, other in zip(expected, found, strict=True))
    alike = alike and all(close(after[name], tensor) for name, tensor in module.state_dict().items())
    module.load_state_dict(state)
    return alike


def close(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and torch.allclose(one, other, atol=1e-4, rtol=1e-3, equal_nan=True)
