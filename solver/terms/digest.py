"""Digests of terms: keys for caches that other processes read, whatever their hash seeds.

    >>> from solver.terms.digest import digest, same
    >>> from solver.terms.interner import Interner
    >>> one, other = Interner(), Interner()
    >>> b, s = one.symbol("b"), one.symbol("s")
    >>> t, c = other.symbol("s"), other.symbol("b")               # the names count, not the order of declaration
    >>> digest(one.eq(b * s, 4)) == digest(other.eq(c * t, 4)), same(one.eq(b * s, 4), other.eq(c * t, 4))
    (True, True)
    >>> digest(one.eq(b, s)) == digest(other.eq(c, t)), digest(one.ge(b, s)) == digest(other.ge(t, c))
    (True, False)

Terms with one digest are the same normal form over symbols of the same names. The converse holds for terms that were
built in the same way: an operation may order its operands by age.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from solver.terms.expr import Atom, Expr, Node
from solver.terms.prop import Prop

SIZE: Final = 20
COMMUTATIVE: Final = frozenset(("bitand", "product", "gcd"))
"""Operations, by kind or name, whose operands are in an order of their interner."""


def digest(node: Node) -> bytes:
    """A digest of the structure, in which symbols count by name."""
    known: dict[Atom, bytes] = {}
    for atom in node.symbols:
        inside = [] if atom.definition is None else [digest(atom.definition)]
        known[atom] = joined(b"symbol", atom.name.encode(), *inside)
    for atom in node.schedule:
        operands = [_direct(arg, known) for arg in atom.args]
        if not COMMUTATIVE.isdisjoint((atom.kind, atom.name)):
            operands.sort()
        known[atom] = joined(atom.kind.encode(), atom.name.encode(), *operands)
    return _direct(node, known)


def same(one: Node, other: Node) -> bool:
    """Return True if two terms, also of two interners, say the same about symbols of the same names."""
    return one is other or (one.interner is not other.interner and digest(one) == digest(other))


def joined(*parts: bytes) -> bytes:
    """The digest of a sequence."""
    from hashlib import blake2b  # loaded on demand: with OpenSSL, in milliseconds

    found = blake2b(digest_size=SIZE)
    for part in parts:
        found.update(b"%d:" % len(part))
        found.update(part)
    return found.digest()


def texts(parts: Iterable[object]) -> bytes:
    """The digest of numbers, texts and None, each as it prints."""
    printed = [hex(part) if type(part) is int else repr(part) for part in parts]
    return joined(*[text.encode(errors="surrogatepass") for text in printed])


def _direct(node: Node, known: Mapping[Atom, bytes]) -> bytes:
    """The digest of a term whose atoms have theirs."""
    if isinstance(node, Expr):
        return _linear("value", node, known)
    assert isinstance(node, Prop)
    found: dict[Prop, bytes] = {}
    for each in node.nodes:
        if each.parts:
            found[each] = joined(each.kind.encode(), *[found[part] for part in each.parts])
        else:
            found[each] = _linear(each.kind, each.expr, known)
    return found[node]


def _linear(kind: str, e: Expr, known: Mapping[Atom, bytes]) -> bytes:
    monomials = e.interner.monomials
    terms = sorted([(joined(*sorted([known[atom] for atom in monomials[m]])), c) for m, c in e.terms])
    # an equation and its negative are one: which of them is written depends on the order of declaration
    sign = -1 if kind in ("eq", "ne") and terms and terms[0][1] < 0 else 1
    numbers = [hex(sign * c).encode() for _, c in terms]  # no limit of digits, as decimals have
    constant = hex(sign * e.constant).encode()
    return joined(kind.encode(), constant, *[part for term, c in zip(terms, numbers) for part in (term[0], c)])
