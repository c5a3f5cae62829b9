"""One program run by eager torch and compiled, call by call: everything that a caller can see is compared."""

from __future__ import annotations

import contextlib
import io
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import torch

from tests.frontends.pytorch.differential.cases import SIZES, Case

LOST_VIEW: Final = "is a view and its base or another view of its base has been modified inplace"
"""Autograd's error for one of several views, such as `unbind` gives, after a change to another."""


def outcome(
    function: Callable[..., object], case: Case, sizes: Mapping[str, int], state: object, seed: int
) -> dict[str, Any]:
    """The effects of a call and its backward: results or the classes of errors, and all other state.

    Arguments require gradients if the case is learned, but are no leaves: they may be changed.
    """
    leaves = case.arguments(sizes, seed)
    for leaf in leaves:
        leaf.requires_grad_(case.learned and (leaf.is_floating_point() or leaf.is_complex()))
    given = [leaf * 1 if leaf.requires_grad else leaf for leaf in leaves]
    torch.manual_seed(seed)
    returned: object = None
    error = backward_error = None
    lost_view = False
    gradients: Sequence[object] = ()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            returned = function(*given)
        except Exception as raised:
            error = type(raised).__name__
            lost_view = LOST_VIEW in str(raised)
        try:
            gradients = gradients_of([returned, given], leaves) if case.learned and error is None else ()
        except RuntimeError as raised:
            backward_error = type(raised).__name__
    results = {"result": returned, "arguments": given, "gradients": gradients, "state": state}
    errors = {"error": error, "error of the backward": backward_error, "lost view": lost_view}
    return {**errors, **results, "printed": printed.getvalue(), "drawn": torch.get_rng_state()}


def gradients_of(values: object, leaves: Sequence[torch.Tensor]) -> Sequence[object]:
    """The gradients of a weighted sum of all results that require one."""
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    learned = [each for each in tensors(values) if each.requires_grad]
    if not wanted or not learned:
        return ()
    total = sum([(each * weights(each)).sum().abs() for each in learned])
    return torch.autograd.grad(total, wanted, allow_unused=True)


def weights(value: torch.Tensor) -> torch.Tensor:
    """Numbers that tell elements apart."""
    return torch.linspace(0.5, 1.5, value.numel(), dtype=torch.float64).reshape(value.shape).to(value.dtype)


def tensors(value: object) -> list[torch.Tensor]:
    """The tensors in a value, each once."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in parts(value) for tensor in tensors(part)]


def parts(value: object) -> Sequence[object]:
    """The elements of a container or attributes of a plain object."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | deque):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, torch.nn.Module):
        return [*value.state_dict(keep_vars=True).values(), *[each.grad for each in value.parameters()], vars(value)]
    if type(value).__module__.startswith("tests.") and hasattr(value, "__dict__"):
        return list(vars(value).values())
    return ()


def same(found: object, expected: object, where: str, seen: frozenset[int] = frozenset()) -> None:
    """The same structure with the same values; tensors with the same dtype, sizes and need of gradients."""
    if id(expected) in seen:
        return
    seen |= {id(expected)}
    # classes made by a program are made for each way to run it
    assert type(found).__qualname__ == type(expected).__qualname__, f"{where}: {type(found)}, expected {type(expected)}"
    if isinstance(expected, torch.Tensor):
        assert isinstance(found, torch.Tensor)
        assert found.requires_grad == expected.requires_grad, f"{where}: requires_grad is {found.requires_grad}"
        one, other = values(found), values(expected)
        assert (one is None) == (other is None), f"{where}: of both tensors one is a view that autograd has lost"
        if one is not None and other is not None:
            torch.testing.assert_close(one, other, equal_nan=True, msg=lambda text: f"{where}: {text}")
        return
    held, wanted = parts(found), parts(expected)
    if isinstance(expected, dict):
        keys = [[key for key in table if isinstance(key, str)] for table in (found, expected)]
        assert keys[0] == keys[1], f"{where}: keys {keys[0]}, expected {keys[1]}"
    if not isinstance(expected, list | tuple | dict | deque) and not wanted:
        plain(found, expected, where)
    assert len(held) == len(wanted), f"{where}: {len(held)} parts, expected {len(wanted)}"
    for place, (one, other) in enumerate(zip(held, wanted)):
        same(one, other, f"{where}[{place}]", seen)


def values(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor without its history; None for a view that was changed in a way that autograd cannot follow."""
    try:
        return None if tensor.requires_grad and tensor.grad_fn is None and not tensor.is_leaf else tensor.detach()
    except RuntimeError:
        return None


def plain(found: object, expected: object, where: str) -> None:
    """Numbers, strings and the like; functions and other objects are not looked into."""
    if isinstance(expected, float | complex):
        assert isinstance(found, float | complex)
        close = math.isclose(abs(found), abs(expected), rel_tol=1e-5, abs_tol=1e-6)
        assert close or (found != found and expected != expected), f"{where}: {found}, expected {expected}"
    elif isinstance(expected, int | str | bytes | bool | set | frozenset | range | torch.dtype | None | torch.Size):
        assert found == expected, f"{where}: {found}, expected {expected}"


def agrees(case: Case, compiling: Callable[[Callable[..., object]], Callable[..., object]]) -> None:
    """Every call does what eager torch does: at the sizes that are traced, at others, and at the first ones again.

    Where eager has one of several views of which another was changed, so that it raises at any use, nothing is
    compared: in a graph each view is its own.
    """
    torch.manual_seed(0)
    function, theirs = case.make()
    torch.manual_seed(0)
    again, ours = case.make()
    compiled = compiling(again)
    for number, sizes in enumerate((*SIZES, SIZES[0])):
        expected = outcome(function, case, sizes, theirs, number)
        found = outcome(compiled, case, sizes, ours, number)
        at = f"call {number} at {sizes}"
        seen = tensors([expected["result"], expected["arguments"]])
        if expected["lost view"] or any(values(each) is None for each in seen):
            return
        if expected["error of the backward"] is not None:
            # what eager saved was overwritten; a graph saves what it needs before
            assert found["error"] is None, f"{at}: raised {found['error']}"
            continue
        for part in expected:
            same(found[part], expected[part], f"{at}, {part}")
