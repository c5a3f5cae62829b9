"""Scripts that reproduce a failure with only torch and this package.

    >>> import torch
    >>> print(tensor_text(torch.tensor([[1.0, float("nan")]])))
    torch.frombuffer(bytearray(base64.b64decode("AACAPwAAwH8=")), dtype=torch.float32).view(1, 2)
    >>> tensor_text(torch.zeros(2, 3), seeded=True)
    'torch.randn(2, 3, dtype=torch.float32)'

If random elements fail too, the script draws them from a seed; otherwise it has the elements as bytes.
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from frontends.pytorch.minifier.failures import Failure, Settings, observed
from frontends.pytorch.minifier.programs import Fact, Program


def script(program: Program, inputs: str, failure: Failure, settings: Settings, preamble: str) -> str:
    """The script's text: the program, its inputs with facts about their sizes, and the failing check."""
    if failure.kind == "specializes":
        check = """guards = [str(guard) for variant in compiled.variants for guard in variant.guards]
assert not guards, f"specializes: {guards}\""""
    else:
        near = f"rtol={settings.rtol}, atol={settings.atol}, equal_nan=True"
        check = f"torch.testing.assert_close(found, expected, {near})"
    return f'''"""symshape with torch {torch.__version__} {failure}"""

from __future__ import annotations

import base64

import torch
from torch.utils._pytree import tree_leaves
{program.imports.strip()}
from frontends.pytorch import compile, mark_dynamic, mark_maybe_dynamic, mark_unbacked

{preamble.strip()}
torch.set_grad_enabled({torch.is_grad_enabled()})
torch.set_default_dtype({torch.get_default_dtype()})


{program.text}


{inputs}


{inspect.getsource(observed)}

expected = observed(program, inputs())
compiled = compile(program, backend={settings.backend!r}, dynamic=False, fullgraph=True)
found = observed(compiled, inputs())
{check}
'''


def inputs_text(names: Sequence[str], facts: Sequence[Fact], tensors: Sequence[str]) -> str:
    """The text of a function that creates the inputs."""
    lines = ["def inputs():", "    torch.manual_seed(0)"]
    lines += [f"    {name} = {text}" for name, text in zip(names, tensors)]
    lines += [f"    {fact}" for fact in facts]
    return "\n".join([*lines, f"    return [{', '.join(names)}]"])


def inputs_of(text: str) -> Callable[[], list[torch.Tensor]]:
    """The function that creates the inputs."""
    from frontends.pytorch.variants import marks

    scope: dict[str, Any] = {"torch": torch, "base64": base64, **vars(marks)}
    exec(compile(text, "<inputs>", "exec"), scope)
    found: Callable[[], list[torch.Tensor]] = scope["inputs"]
    return found


def tensor_text(x: torch.Tensor, *, seeded: bool = False) -> str:
    """A tensor as Python text: with its elements, or with random ones where most are valid, unlike indices."""
    sizes = ", ".join(map(str, x.shape)) or "()"
    if seeded and (x.is_floating_point() or x.is_complex()):
        text = f"torch.randn({sizes}, dtype={x.dtype})"
    elif seeded and x.dtype is torch.bool:
        text = f"torch.rand({sizes}) < 0.5"
    else:
        elements = x.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)
        data = base64.b64encode(bytes(elements.tolist())).decode()
        text = f'torch.frombuffer(bytearray(base64.b64decode("{data}")), dtype={x.dtype}).view({sizes})'
    if not x.is_contiguous():
        text = f"torch.empty_strided({tuple(x.shape)}, {x.stride()}, dtype={x.dtype}).copy_({text})"
    return f"{text}.requires_grad_()" if x.requires_grad else text
