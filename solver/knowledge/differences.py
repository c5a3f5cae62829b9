"""Difference constraints: `y - x >= c` is an edge from x to y, and what follows from some is a shortest path.

    >>> from solver.knowledge.differences import prove_nonnegative
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> offsets = [terms.symbol(f"o{i}") for i in range(100)]
    >>> known = Facts.empty(terms)
    >>> for offset in offsets:
    ...     known = known.declare_range(offset, 0, None)
    >>> for first, second in zip(offsets, offsets[1:]):
    ...     known = known.learn_prop(terms.le(first, second))
    >>> print(prove_nonnegative(known, offsets[-1] - offsets[0]).conclusion)
    o0 <= o99

A sample satisfies every fact, so its values are potentials that make no edge negative (Cotton and Maler): the cost of
an edge is the distance of its fact from equality there, and only nodes closer to the start than the goal is to equality
are visited (Dijkstra). The path is the certificate: the goal is the sum of its facts, and of the bounds of what else
they mention.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from solver.knowledge.entries import Entry
from solver.knowledge.explain import prove_bound
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep, combine
from solver.terms.expr import Expr

TERMS: Final = 4
"""Terms of a goal, and of a fact that is an edge; those that are no ends of it are bounded."""
EDGES: Final = 8_000
"""Facts examined for one goal."""

Cost = tuple[int, int]
"""The distance from equality at the sample, then the number of edges."""


class Edge:
    """A fact as a lower bound of `target` by the node that it comes from; `rest` are its other terms, at a bound."""

    __slots__ = ("entry", "rest", "sign", "source")

    def __init__(self, source: int, entry: Entry, sign: int, rest: list[tuple[int, int]]) -> None:
        self.source = source
        self.entry = entry
        self.sign = sign
        self.rest = rest


def prove_nonnegative(facts: Facts, e: Expr) -> ProofStep | None:
    """`e >= 0` by a path from a subtracted term to another, all further terms at their bounds."""
    if not 1 <= len(e.terms) <= TERMS or e.content() != 1 or not facts.uses.count:
        return None
    keys = facts.interner.monomial_keys
    unit = sorted([(m, c) for m, c in e.terms if c in (1, -1)], key=lambda term: keys[term[0]])
    if not any(_used(facts, m) for m, _ in unit):
        return None
    row = _closest_row(facts, e)
    if row is None:
        return None
    for m, c in unit:
        for n, d in unit:
            if c < 0 < d:
                rest = [term for term in e.terms if term[0] not in (m, n)]
                found = Paths(facts, row, 1).prove(e, m, n, rest)
                if found is not None:
                    return found
    for m, c in unit:
        rest = [term for term in e.terms if term[0] != m]
        found = Paths(facts, row, -c).prove(e, m, None, rest)
        if found is not None:
            return found
    return None


def _used(facts: Facts, m: int) -> bool:
    return any(facts.uses.get(atom.serial) is not None for atom in facts.interner.monomials[m])


def _closest_row(facts: Facts, e: Expr) -> int | None:
    """The living sample in which the expression is least, if it is nonnegative in all of them."""
    values = facts.samples.values(e)
    row = min(facts.samples.alive, key=lambda row: (values[row], row), default=None)
    return None if row is None or values[row] < 0 else row


class Paths:
    """The shortest paths of one goal, in terms of lower bounds (`sign` 1), or of upper bounds (-1), of the nodes."""

    __slots__ = ("edges", "facts", "left", "row", "sign")

    def __init__(self, facts: Facts, row: int, sign: int) -> None:
        self.facts = facts
        self.row = row
        self.sign = sign
        self.left = EDGES
        self.edges: dict[int, Edge] = {}

    def prove(self, e: Expr, start: int, target: int | None, rest: list[tuple[int, int]]) -> ProofStep | None:
        """`e >= 0`, which is `target - start + rest`, or `rest - start` without a target.

        The opposite of both where the sign is -1.
        """
        spare = self.facts.samples.values(e)[self.row]
        for m, c in rest:
            cost = self.cost_of_bound(m, c)
            if cost is None:
                return None
            spare -= cost
        end = self.search(start, target, spare)
        if end is None:
            return None
        bounds = list(rest)
        if target is None:
            bounds.append((end, -self.sign))
        elif end != target:
            bounds += [(end, -1), (target, 1)]
        return self.proof(e, end, start, bounds)

    def value(self, m: int) -> int:
        value = 1
        for atom in self.facts.interner.monomials[m]:
            value *= self.facts.samples.atom_column(atom)[self.row]
        return value

    def cost_of_bound(self, m: int, c: int) -> int | None:
        """The distance of `c*m` from its lower bound."""
        r = self.facts.range_of(m)
        bound = r.lo if c > 0 else r.hi
        return None if bound is None else c * (self.value(m) - bound)

    def search(self, start: int, target: int | None, spare: int) -> int | None:
        """The end of a path from the start that costs at most so much: the target, or a node from whose bound the goal
        follows."""
        from_zero = 0 if target is None else self.cost_of_bound(target, 1)
        keys = self.facts.interner.monomial_keys
        best: dict[int, Cost] = {start: (0, 0)}
        done: set[int] = set()
        queue = [((0, 0), keys[start], start)]
        while queue:
            cost, _, node = heappop(queue)
            if node in done:
                continue
            if node == target:
                return node
            done.add(node)
            to_zero = None if from_zero is None else self.cost_of_bound(node, -self.sign)
            if from_zero is not None and to_zero is not None and cost[0] + to_zero + from_zero <= spare:
                return node
            for step, other, edge in self.edges_from(node):
                further = (cost[0] + step, cost[1] + 1)
                # facts come newest first, and the oldest of those that do is used
                if further[0] <= spare and other not in done and (other not in best or further <= best[other]):
                    best[other] = further
                    self.edges[other] = edge
                    heappush(queue, (further, keys[other], other))
        return None

    def edges_from(self, node: int) -> list[tuple[int, int, Edge]]:
        """The cost, the node at the other end, and the fact of each edge."""
        found: list[tuple[int, int, Edge]] = []
        for atom in dict.fromkeys(self.facts.interner.monomials[node]):
            uses = self.facts.uses.get(atom.serial)
            while uses is not None and self.left > 0:
                entry = uses.entry
                uses = uses.rest
                p = entry.prop
                if len(p.terms) < 2:
                    continue
                self.left -= 1
                if p.kind not in ("ge", "eq") or len(p.terms) > TERMS:
                    continue
                own = next((c for m, c in p.terms if m == node), 0)
                if own not in (1, -1) or not self.facts.is_inert(p.expr):
                    continue
                # as a fact in which this node has the opposite sign of the ends of its edges
                sign = -own * self.sign
                if sign < 0 and p.kind != "eq":
                    continue
                found += self.edges_of(node, entry, sign)
        return found

    def edges_of(self, node: int, entry: Entry, sign: int) -> list[tuple[int, int, Edge]]:
        found = []
        p = entry.prop
        terms = [(m, sign * c) for m, c in p.terms if m != node]
        distance = 0
        if p.kind == "ge":
            distance = p.expr.constant + sum([c * self.value(m) for m, c in p.terms])
        for other, c in terms:
            if c != self.sign:
                continue
            cost: int | None = distance
            rest = [(m, -k) for m, k in terms if m != other]
            for m, k in rest:
                more = self.cost_of_bound(m, k)
                cost = None if cost is None or more is None else cost + more
            if cost is not None and cost >= 0:
                found.append((cost, other, Edge(node, entry, sign, rest)))
        return found

    def proof(self, e: Expr, end: int, start: int, bounds: list[tuple[int, int]]) -> ProofStep:
        """The sum of the facts along the path, and of these bounds."""
        premises: list[ProofStep] = []
        multipliers: list[int] = []
        node = end
        while node != start:
            edge = self.edges[node]
            premises.append(edge.entry.proof)
            multipliers.append(edge.sign)
            bounds += edge.rest
            node = edge.source
        for m, c in bounds:
            r = self.facts.range_of(m)
            bound = r.lo if c > 0 else r.hi
            assert bound is not None
            premises.append(prove_bound(self.facts, m, c > 0, bound))
            multipliers.append(abs(c))
        total = sum([k * premise.conclusion.expr.constant for premise, k in zip(premises, multipliers, strict=True)])
        return combine(premises, multipliers, e.constant - total)
