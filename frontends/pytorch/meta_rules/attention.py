"""Attention: the mask is expanded over batches and heads before dispatch.

Torch chooses a kernel by branches that compare the mask's sizes with the query's; an expanded mask decides them.
"""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.symbolic.function_mode import Arguments, Function, Keywords, handles

PLACE_OF_MASK: Final = 3


@handles(torch.nn.functional.scaled_dot_product_attention)
def attention(mode: object, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The same call with an expanded mask."""
    named = "attn_mask" in kwargs
    mask = kwargs["attn_mask"] if named else args[PLACE_OF_MASK] if len(args) > PLACE_OF_MASK else None
    if not isinstance(mask, torch.Tensor) or len(args) < 2:
        return NotImplemented
    query, key = args[0], args[1]
    if query.dim() != 4 or mask.dim() != 4:
        return NotImplemented
    whole = (*query.shape[:3], key.shape[2])
    sizes = mask.shape
    expanded = [-1 if type(of) is int or type(size) is not int or size != 1 else of for size, of in zip(sizes, whole)]
    if all(type(size) is int for size in expanded):
        return NotImplemented
    mask = mask.expand(expanded)
    if named:
        return func(*args, **{**kwargs, "attn_mask": mask})
    return func(*args[:PLACE_OF_MASK], mask, *args[PLACE_OF_MASK + 1 :], **kwargs)
