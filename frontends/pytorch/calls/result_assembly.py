"""Generated code that assembles a call's results, and performs its side effects.

    >>> from torch.utils._pytree import tree_structure
    >>> from frontends.pytorch.calls.result_assembly import assembler
    >>> assembler(tree_structure({"sums": (0, 0)}))([1, 2])
    {'sums': (1, 2)}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

from torch.utils._pytree import TreeSpec, tree_unflatten

from frontends.pytorch.python.assembling import maker
from frontends.pytorch.python.side_effects import Entries, Items, SideEffect
from frontends.pytorch.python.snapshots import ATTRIBUTES, LIST

DEEPEST: Final = 16
"""The maximal depth of an expression, which Python limits; deeper parts are unflattened by torch's pytree."""


def performing(effects: Sequence[SideEffect], scope: dict[str, Any]) -> list[str]:
    """Statements that perform side effects with the values in `_stored`."""
    lines, start = [], 0
    for place, effect in enumerate(effects):
        owner = f"_given_{effect.node}"
        if effect.node is None:
            owner = f"_owner_{place}"
            scope[owner] = effect.owner
        end = start + effect.count
        match effect.steps:
            case Entries(removed=(), stored=keys) if effect.part is ATTRIBUTES:
                scope.update({"_set": dict.__setitem__, "_own": object.__getattribute__, f"_keys_{place}_": keys})
                lines.append(f"_held = _own({owner}, '__dict__')")
                lines += [f"_set(_held, _keys_{place}_[{at}], _stored[{start + at}])" for at in range(len(keys))]
            case Items(dropped=0, kept=None) if effect.part is LIST:
                scope["_extend"] = list.extend
                lines.append(f"_extend({owner}, _stored[{start}:{end}])")
            case steps:
                scope[f"_part_{place}"], scope[f"_perform_{place}"] = effect.part, steps.perform
                lines.append(f"_perform_{place}({owner}, _part_{place}, _stored[{start}:{end}])")
        start = end
    return lines


def targets_text(names: Sequence[str]) -> str:
    """Names as the targets of an unpacking."""
    return f"{names[0]}," if len(names) == 1 else ", ".join(names) or "()"


def expression(spec: TreeSpec, scope: dict[str, Any], depth: int = 0) -> str:
    """The text of an expression for a structure, with `{}` for each leaf; its references are added to the scope."""
    if spec.is_leaf():
        return "{}"
    if depth == DEEPEST:
        scope[name := f"_make_{len(scope)}"] = partial(tree_unflatten, treespec=spec)
        return f"{name}([{', '.join(['{}'] * spec.num_leaves)}])"
    children = [expression(child, scope, depth + 1) for child in spec.children()]
    if spec.type is tuple:
        return f"({', '.join(children)},)" if children else "()"
    if spec.type is list:
        return f"[{', '.join(children)}]"
    if spec.type is dict and all(type(key) in (str, int) for key in spec.context):
        keys = [repr(key).replace("{", "{{").replace("}", "}}") for key in spec.context]
        return "{{" + ", ".join([f"{key}: {part}" for key, part in zip(keys, children)]) + "}}"
    scope[name := f"_make_{len(scope)}"] = maker(spec.type, spec.context)
    return f"{name}([{', '.join(children)}])"


def returning(shown: str, effects: Sequence[SideEffect], scope: dict[str, Any]) -> list[str]:
    """Statements that perform the side effects, and return the results of an expression."""
    if not effects:
        return [f"return {shown}"]
    return [f"_returned, _stored = {shown}", *performing(effects, scope), "return _returned"]


def assembler(structure: TreeSpec, effects: Sequence[SideEffect] = ()) -> Callable[[Sequence[object]], object]:
    """A function that unflattens the results and the stored values, and performs the side effects."""
    scope: dict[str, Any] = {}
    leaves = [f"_{place}" for place in range(structure.num_leaves)]
    shown = expression(structure, scope).format(*leaves)
    return defined("assembled(values)", [f"{targets_text(leaves)} = values", *returning(shown, effects, scope)], scope)


def defined(head: str, lines: Sequence[str], scope: dict[str, Any]) -> FunctionType:
    """Define a function with these statements and the scope as globals."""
    name = head.partition("(")[0]
    exec(compile("\n".join([f"def {head}:", *["    " + line for line in lines]]), f"<{name}>", "exec"), scope)
    return scope.pop(name)
