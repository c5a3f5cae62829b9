"""Effect tokens of AOTAutograd's graphs: they order operators with side effects, which our graphs do by themselves.

    >>> import torch
    >>> from frontends.pytorch.dynamo.effect_tokens import without_tokens
    >>> module = torch.fx.symbolic_trace(lambda x: x * 2)
    >>> without_tokens(module) is module
    True

A graph with an operator that may raise, such as the check of a factorization, is given a token, None at run time,
and returns one. Here the operator is called without.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._higher_order_ops.effects import with_effects
from torch._ops import OpOverload


def without_tokens(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph with operators called by themselves; the tokens that it returns are None."""
    calls = module.graph.find_nodes(op="call_function", target=with_effects)
    if not calls or not all(isinstance(node.args[1], OpOverload) for node in calls):
        return module
    made = torch.fx.Graph()
    copies: dict[torch.fx.Node, Any] = {}
    for node in module.graph.nodes:
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), copies.__getitem__)
        if node in calls:
            copies[node] = made.call_function(args[1], args[2:], kwargs)
        elif node.target is operator.getitem and node.args[0] in calls:
            # the first is the token
            found = args[0] if args[1] else None
            is_several = len(node.args[0].args[1]._schema.returns) > 1
            copies[node] = made.call_function(operator.getitem, (found, args[1] - 1)) if found and is_several else found
        elif node.op == "output":
            made.output(args[0])
        else:
            copies[node] = made.node_copy(node, copies.__getitem__)
    return torch.fx.GraphModule(module, made)
