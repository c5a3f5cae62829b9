"""The guards of `benchmarks.guards`, written carefully by a person: the baseline of generated code."""


def check(b: int, s: int, d: int, b2: int, t: int, d2: int, d3: int, h: int, k: int) -> bool:
    if b != b2 or d != d2 or d != d3:
        return False
    if b < 1 or s < 1 or h < 1 or k < 1 or t > 8192 or t < s:
        return False
    if s % 16 != 0 or d % 32 != 0 or h * k != d:
        return False
    rows = b * s
    return rows % 64 == 0 and rows * d < 2**31


def check_tensors(x: tuple[int, ...], y: tuple[int, ...], w: tuple[int, ...]) -> bool:
    """The same for sizes as tuples."""
    b, s, d = x
    b2, t, d2 = y
    d3, h, k = w
    return (
        b == b2
        and d == d2 == d3
        and b >= 1
        and s >= 1
        and h >= 1
        and k >= 1
        and s <= t <= 8192
        and s % 16 == 0
        and d % 32 == 0
        and h * k == d
        and (b * s) % 64 == 0
        and b * s * d < 2**31
    )
