"""Damaged recordings: a small session, and what accidents and enemies make of it, drawn from a seed."""

import gzip
import json
import random
import tempfile
from functools import cache
from pathlib import Path

from shapes import ShapeEnv
from shapes.sessions.long_json import dumps

ENDLESS = 10**5000
VALUES: list[object] = [
    None, True, False, 0, -1, 1, 2**63, ENDLESS, 1.5, "", "s", "s > 0", "é", "\0", "\u2028", "\U0001f600", "s" * 3000,
    [], [1], ["a"], {}, {"a": 1}, "2**(10**9) > 0", "9**9**9 > s", "1 << 10**9 > s", "floor(1e999999999) > s", "s == ²",
    "s // 0 == 1", "double(2**70) > 0", "backed", "unbacked", "session", "symbol", "assume", "ask", "guard", "given",
    "assert", "range", "hypothesis", "if", "__class__", "min", "model.py:" + "9" * 5000,
]  # fmt: skip
RAW = [
    "NaN", "Infinity", "-Infinity", "1e400", '"\\ud800"', '"\\u0000"', "[" * 3000, "{" * 500, "9" * 10_000, '"\\x"',
    "nul", "1e-5000", "-0", '"\\u001b[2J"', '{"a":1,"a":2}',
]  # fmt: skip
KEYS = ["as", "sources", "message", "hint", "kind", "why", "at", "format", "policy", "name"]


@cache
def session() -> bytes:
    """A recording with every kind of line, symbol and fact."""
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s", hints=(4, 128))
    path = Path(tempfile.mkdtemp()) / "session.jsonl"
    with env.record(path):
        env.assume("s % 16 == 0")
        env.ask("(b*s) % 8 == 0")
        env.guard(b > 1)
        u = env.unbacked("u0", lo=0)
        env.expect_true(u <= s, "too many")
        env.ask("max(u0, 3) > floor(b/2)")
    return path.read_bytes()


def damaged(seed: int) -> bytes:
    """The recording with a few changes, packed or not."""
    draw = random.Random(seed)
    kind = draw.randrange(5)
    if kind == 0:
        return _packed(draw, _other_values(draw))
    if kind == 1:
        return _packed(draw, _other_text(draw))
    if kind == 2:
        return _packed(draw, _other_bytes(draw, session()))
    return _other_bytes(draw, gzip.compress(session(), mtime=0))


def _packed(draw: random.Random, data: bytes) -> bytes:
    return gzip.compress(data, mtime=0) if draw.random() < 0.2 else data


def _other_values(draw: random.Random) -> bytes:
    lines: list[dict[str, object]] = [json.loads(line) for line in session().splitlines()]
    for _ in range(draw.randint(1, 3)):
        line, what = draw.choice(lines), draw.random()
        key = draw.choice([*line, *KEYS])
        if what < 0.6:
            line[key] = draw.choice(VALUES)
        elif what < 0.75:
            line.pop(key, None)
        elif what < 0.9:
            other = dict(draw.choice(lines))
            line.clear()
            line.update(other)
        else:
            draw.shuffle(lines)
    return "\n".join(map(dumps, lines)).encode()


def _other_text(draw: random.Random) -> bytes:
    text = session().decode()
    begin = draw.choice([place for place, letter in enumerate(text) if letter == ":"])
    end = min(place for place in (text.find(",", begin), text.find("}", begin)) if place > 0)
    return (text[: begin + 1] + draw.choice(RAW) + text[end:]).encode()


def _other_bytes(draw: random.Random, whole: bytes) -> bytes:
    data = bytearray(whole)
    for _ in range(draw.randint(1, 5)):
        place, what = draw.randrange(len(data)), draw.randrange(6)
        if what == 0:
            data[place] ^= 1 << draw.randrange(8)
        elif what == 1:
            del data[place : place + draw.randrange(1, 40)]
        elif what == 2:
            data[place:place] = draw.randbytes(draw.randrange(8))
        elif what == 3:
            del data[max(1, place) :]
        elif what == 4:
            data += draw.randbytes(draw.randrange(1, 9))
        else:
            data += whole
        if not data:
            return b""
    return bytes(data)
