"""Proofs by residue classes, for what solvers of nonlinear integer arithmetic do not decide: squares modulo constants.

Every symbol becomes `m*q + r` for each residue r of one modulus m. Products are multiplied out; a quotient or remainder
by a constant is taken where the other coefficients are its multiples. A proposition so reduced to numbers in every
class is decided.

>>> settled("x*x % 3 != 2", ["x"])
True
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Mapping, Sequence

import meaning

Polynomial = dict[tuple[str, ...], int]
MODULI = (2, 3, 4, 5, 6, 7, 8, 9, 12, 16)


class Open(Exception):
    """The class does not determine the value."""


def total(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    sums = dict(a)
    for monomial, coefficient in b.items():
        sums[monomial] = sums.get(monomial, 0) + factor * coefficient
    return {monomial: coefficient for monomial, coefficient in sums.items() if coefficient}


def product(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for (m, x), (n, y) in itertools.product(a.items(), b.items()):
        result = total(result, {tuple(sorted(m + n)): x * y})
    return result


def reduced(node: ast.expr, values: Mapping[str, Polynomial]) -> Polynomial:
    match node:
        case ast.Constant(value=int()):
            return {(): node.value} if node.value else {}
        case ast.Name():
            return values[node.id]
        case ast.UnaryOp(op=ast.USub()):
            return total({}, reduced(node.operand, values), -1)
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int())):
            base, result = reduced(node.left, values), {(): 1}
            for _ in range(node.right.value):
                result = product(result, base)
            return result
        case ast.BinOp():
            a, b = reduced(node.left, values), reduced(node.right, values)
            match node.op:
                case ast.Add():
                    return total(a, b)
                case ast.Sub():
                    return total(a, b, -1)
                case ast.Mult():
                    return product(a, b)
                case ast.FloorDiv() | ast.Mod() if set(b) == {()}:
                    k = b[()]
                    if any(coefficient % k for monomial, coefficient in a.items() if monomial):
                        raise Open
                    if isinstance(node.op, ast.Mod):
                        return {(): a.get((), 0) % k} if a.get((), 0) % k else {}
                    return {m: c // k for m, c in a.items() if c // k}
    raise Open


def truth(node: ast.expr, values: Mapping[str, Polynomial]) -> bool:
    match node:
        case ast.UnaryOp(op=ast.Not()):
            return not truth(node.operand, values)
        case ast.Compare(ops=[op], comparators=[right]):
            difference = total(reduced(node.left, values), reduced(right, values), -1)
            constant = difference.get((), 0)
            if set(difference) <= {()}:
                return bool(meaning.COMPARISONS[type(op)](constant, 0))
            common = math.gcd(*(c for m, c in difference.items() if m))
            if isinstance(op, ast.Eq | ast.NotEq) and constant % common:
                return isinstance(op, ast.NotEq)
    raise Open


def settled(text: str, names: Sequence[str]) -> bool | None:
    """The one truth value in every class of some modulus, or None."""
    for modulus in MODULI:
        if modulus ** len(names) > 300:
            break
        found = set()
        try:
            for residues in itertools.product(range(modulus), repeat=len(names)):
                values = {
                    name: total({(name,): modulus}, {(): r} if r else {})
                    for name, r in zip(names, residues, strict=True)
                }  # fmt: skip
                found.add(truth(meaning.parsed(text), values))
        except Open:
            continue
        if len(found) == 1:
            return found.pop()
    return None
