"""Read MLIR's affine maps, integer sets and assumptions as sizes and facts, and write what is known the same way.

    >>> from frontends.mlir import assumption_of, read, read_map, read_set
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> (x,) = read(env, "util.assume.int %x<umin = 16, umax = 4096, udiv = 16> : index").values()
    >>> tiles, rest = read_map("affine_map<(d0) -> (d0 ceildiv 4, d0 mod 8)>").apply(env, [x])
    >>> assumption_of(env, tiles), assumption_of(env, rest)
    ('<umin = 4, umax = 1024, udiv = 4>', '<umin = 0, umax = 0>')
    >>> env.ask(read_set("affine_set<(d0) : (d0 - 16 >= 0, d0 mod 32 == 0)>").holds(env, [x]))
    Depends(true_at={'x': 32}, false_at={'x': 16})

`floordiv`, `ceildiv` and `mod` are MLIR's: they round down, up and down, and are defined for positive divisors, which
are constants or positive under the facts. Values are integers without overflow; what `util.assume.int` is about is
unsigned.
"""

from frontends.mlir.affine import AffineMap, IntegerSet, read_map, read_set
from frontends.mlir.statements import assumption_of, divisor_of, read

__all__ = ["AffineMap", "IntegerSet", "assumption_of", "divisor_of", "read", "read_map", "read_set"]
