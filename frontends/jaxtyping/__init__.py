"""jaxtyping's annotations as facts: what they say of a function's result is proven or refuted before any call.

    >>> from frontends.jaxtyping import prove, signature_of
    >>> def linear(x: "Float[Array, 'b n']", w: "Float[Array, 'm n']") -> "Float[Array, 'b m']":
    ...     return x @ w.T
    >>> print(prove(linear))
    linear: proven
    >>> signature_of(linear).check({"x": (2, 3), "w": (4, 5)})
    Traceback (most recent call last):
    frontends.jaxtyping.signature.Mismatch: linear: dimension n: w.shape[1] is 5, x.shape[1] is 3

`dimensions.py` reads the text of an annotation, `matching.py` compares shapes with it as jaxtyping does, numbers and
symbolic sizes alike, `signature.py` reads a function, `proving.py` runs its body on the arrays of `arrays.py`.
"""

from frontends.jaxtyping.dimensions import read_dimensions
from frontends.jaxtyping.proving import Claim, Proof, prove
from frontends.jaxtyping.signature import Annotation, Mismatch, Signature, signature_of

__all__ = ["Annotation", "Claim", "Mismatch", "Proof", "Signature", "prove", "read_dimensions", "signature_of"]
