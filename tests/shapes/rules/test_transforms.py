"""Fourier transforms on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("fft.fft", ("b s",), {"n": "$t"}, "Shape(b, t)", ["t >= 1"]),
    ("fft.rfft", ("b s",), {"dim": 0}, "Shape(b//2 + 1, s)", ["b >= 1"]),
    ("fft.irfft", ("b s",), {}, "Shape(b, 2*s - 2)", ["s >= 2"]),
    ("fft.rfftn", ("b s t",), {"s": ["$d", -1]}, "Shape(b, d, t//2 + 1)", ["d >= 1", "t >= 1"]),
    (
        "stft", ("b s", "$d", "$h"), {"center": False, "return_complex": True},
        "Shape(b, d//2 + 1, (s - d)//h + 1)",
        ["d >= 1", "h >= 1", "d <= s"],
    ),
    ("istft", ("b 5 t", 8, 2), {}, "Shape(b, 2*t - 2)", ["b >= 1", "t >= 2"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_transforms_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
