"""Functions of matrices on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("linalg.inv", ("b s s",), {}, "Shape(b, s, s)", []),
    ("linalg.det", ("b s t",), {}, "Shape(b)", ["s == t"]),
    ("linalg.qr", ("s t",), {}, "(Shape(s, min(s, t)), Shape(min(s, t), t))", []),
    ("linalg.qr", ("s t",), {"mode": "complete"}, "(Shape(s, s), Shape(s, t))", []),
    (
        "linalg.svd", ("b s t",), {"full_matrices": False},
        "(Shape(b, s, min(s, t)), Shape(b, min(s, t)), Shape(b, min(s, t), t))",
        [],
    ),
    ("linalg.eigh", ("s s",), {}, "(Shape(s), Shape(s, s))", []),
    ("linalg.pinv", ("b s t",), {}, "Shape(b, t, s)", []),
    ("linalg.matrix_norm", ("b s t",), {"dim": (0, -1), "keepdim": True}, "Shape(1, s, 1)", []),
    ("linalg.matrix_norm", ("s t", -2), {}, "Shape()", ["min(s, t) >= 1"]),
    ("linalg.lu_factor", ("s t",), {}, "(Shape(s, t), Shape(min(s, t), dtype=int32))", []),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_functions_of_matrices_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
