"""Scripts that reproduce a failure with only torch and this package.

    >>> import torch
    >>> text, like = tensor_text(torch.tensor([[1.0, float("nan")]]), seeded=False)
    >>> print(text)
    torch.frombuffer(bytearray(base64.b64decode("AACAPwAAwH8=")), dtype=torch.float32).view(1, 2)
    >>> tensor_text(torch.zeros(2, 3), seeded=True)[0]
    'torch.randn(2, 3, dtype=torch.float32)'

If random elements fail too, the script draws them from a seed; otherwise it has the elements as bytes.
"""

from __future__ import annotations

import base64
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from frontends.pytorch.minifier.failures import Failure, Settings, observed
from frontends.pytorch.minifier.programs import Fact, Program

FEW: Final = 16
"""Up to this many elements are printed as numbers."""


def script(
    program: Program,
    facts: Sequence[Fact],
    tensors: Sequence[str],
    failure: Failure,
    settings: Settings,
    *,
    preamble: str = "",
) -> str:
    """The script's text: the program, its inputs with facts about their sizes, and the failing check."""
    named = sorted({str(fact).partition("(")[0] for fact in facts})
    lines = [f'"""symshape with torch {torch.__version__} {failure}"""', "", "from __future__ import annotations", ""]
    lines += ["import base64", "", "import torch", "from torch.utils._pytree import tree_leaves"]
    lines += [*program.imports.splitlines(), f"from frontends.pytorch import {', '.join(['compile', *named])}", ""]
    lines += [preamble.strip(), ""] if preamble.strip() else []
    lines += [f"torch.set_grad_enabled({torch.is_grad_enabled()})"]
    if torch.get_default_dtype() is not torch.float32:
        lines += [f"torch.set_default_dtype({torch.get_default_dtype()})"]
    lines += ["", "", *program.text.splitlines(), "", ""]
    lines += inputs_text(program.names, facts, tensors).splitlines()
    lines += ["", "", *inspect.getsource(observed).splitlines(), "", "", "expected = observed(program, inputs())"]
    lines += [f"compiled = compile(program, backend={settings.backend!r}, dynamic=False, fullgraph=True)"]
    lines += ["found = observed(compiled, inputs())"]
    if failure.kind == "specializes":
        lines += ["guards = [str(guard) for variant in compiled.variants for guard in variant.guards]"]
        lines += ['assert not guards, f"specializes: {guards}"']
    else:
        near = f"rtol={settings.rtol}, atol={settings.atol}, equal_nan=True"
        lines += [f"torch.testing.assert_close(found, expected, {near})"]
    return "\n".join(lines) + "\n"


def inputs_text(names: Sequence[str], facts: Sequence[Fact], tensors: Sequence[str]) -> str:
    """The text of a function that creates the inputs."""
    lines = ["def inputs():", "    torch.manual_seed(0)"]
    lines += [f"    {name} = {text}" for name, text in zip(names, tensors)]
    lines += [f"    {fact}" for fact in facts]
    return "\n".join([*lines, f"    return [{', '.join(names)}]"])


def made_by(names: Sequence[str], facts: Sequence[Fact], tensors: Sequence[str]) -> Callable[[], list[torch.Tensor]]:
    """The same as a function."""
    from frontends.pytorch.variants import marks

    scope: dict[str, Any] = {"torch": torch, "base64": base64}
    scope.update({name: getattr(marks, name) for name in ("mark_dynamic", "mark_maybe_dynamic", "mark_unbacked")})
    exec(compile(inputs_text(names, facts, tensors), "<inputs>", "exec"), scope)
    found: Callable[[], list[torch.Tensor]] = scope["inputs"]
    return found


def tensor_text(x: torch.Tensor, *, seeded: bool) -> tuple[str, bool]:
    """A tensor as Python text, and whether it has the original elements."""
    sizes = ", ".join(map(str, x.shape))
    text = random_text(x, sizes) if seeded else None
    exact = text is None
    if text is None:
        text = elements_text(x, sizes)
    if not x.is_contiguous():
        text = f"torch.empty_strided({tuple(x.shape)}, {x.stride()}, dtype={x.dtype}).copy_({text})"
    return f"{text}.requires_grad_()" if x.requires_grad else text, exact


def random_text(x: torch.Tensor, sizes: str) -> str | None:
    """Random elements; None where few are valid: indices and counts."""
    if x.dtype is torch.bool:
        return f"torch.rand({sizes or '()'}) < 0.5"
    if x.is_floating_point() or x.is_complex():
        return f"torch.randn({sizes or '()'}, dtype={x.dtype})"
    return None


def elements_text(x: torch.Tensor, sizes: str) -> str:
    """The original elements."""
    flat = x.detach().resolve_conj().resolve_neg().contiguous().view(-1)
    if flat.numel() <= FEW:
        numbers = flat.tolist()
        if all(type(each) is not complex and math.isfinite(each) for each in numbers):
            return f"torch.tensor({numbers}, dtype={x.dtype}).view({sizes or '()'})"
    data = base64.b64encode(bytes(flat.view(torch.uint8).tolist())).decode()
    return f'torch.frombuffer(bytearray(base64.b64decode("{data}")), dtype={x.dtype}).view({sizes or "()"})'
