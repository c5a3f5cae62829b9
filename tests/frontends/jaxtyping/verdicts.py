"""The verdicts of jaxtyping's own checker, and ours, on a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jaxtyping

from frontends.jaxtyping import Mismatch
from frontends.jaxtyping.signature import Signature


def fits(checked: Callable[..., Any], *args: object) -> bool:
    """jaxtyping accepts the call and its result."""
    try:
        checked(*args)
    except jaxtyping.TypeCheckError:
        return False
    return True


def accepted(signature: Signature, shapes: dict[str, Any], result: Any, values: dict[str, object]) -> bool:
    """We accept them."""
    try:
        signature.check(shapes, result, values)
    except Mismatch:
        return False
    return True
