"""Sample models of the facts, stored by column.

A question that is true in one sample and false in another is open, and the two are its witnesses. One that all samples
answer alike is worth proving in that direction only. Facts with a sample are consistent.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None, hint=48).learn_prop(terms.eq(s % 16, 0))
    >>> known.samples.classify(terms.ge(s, 40)) != (None, None)
    True

The samples depend on the facts alone: a question leaves no trace in them. A new fact drops the rows that it refutes;
when few are left, `solver.samples.repair` repairs some. Columns are shared with older values until a row changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from solver.knowledge.entries import Rule
from solver.knowledge.start_values import ROWS, start_column
from solver.knowledge.symbols import sources
from solver.proofs.fact import Fact
from solver.terms.atoms import arguments, operands
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.operations import Evaluate
from solver.terms.persistent import ShardedMap
from solver.terms.prop import SHARING, Prop

ENOUGH: Final = 4
TOUCHED: Final = 96
LONG: Final = 32
"""A sum of more terms is evaluated by its difference from another one, and kept."""


class Touching:
    """The facts that mention a symbol, newest first."""

    __slots__ = ("count", "fact", "rest")

    def __init__(self, fact: Fact, rest: Touching | None) -> None:
        self.fact = fact
        self.rest = rest
        self.count: int = 1 if rest is None else rest.count + 1


class Samples:
    """Rows of values; `alive` are the rows that satisfy every fact."""

    __slots__ = ("alive", "cache", "columns", "dependents", "enough", "limits", "longest", "touching")

    columns: ShardedMap[tuple[int, ...]]
    limits: ShardedMap[tuple[int | None, int | None]]
    touching: ShardedMap[Touching]
    dependents: ShardedMap[tuple[Atom, ...]]
    alive: tuple[int, ...]
    cache: dict[Atom | int | Expr, list[int]]
    longest: tuple[Expr, ...]
    """The newest sums of many terms; the cache may have their values."""
    enough: int
    """The number of living rows from which on none is repaired."""

    @staticmethod
    def empty(*, enough: int = ENOUGH) -> Samples:
        samples = Samples()
        samples.enough = enough
        samples.columns = ShardedMap()
        samples.limits = ShardedMap()
        samples.touching = ShardedMap()
        samples.dependents = ShardedMap()
        samples.alive = tuple(range(ROWS))
        samples.cache = {}
        samples.longest = ()
        return samples

    def copy(self) -> Samples:
        samples = Samples()
        samples.enough = self.enough
        samples.columns = self.columns
        samples.limits = self.limits
        samples.touching = self.touching
        samples.dependents = self.dependents
        samples.alive = self.alive
        samples.cache = self.cache
        samples.longest = self.longest
        return samples

    def declare(self, atom: Atom, lo: int | None, hi: int | None, hint: int | None, seed: int) -> Samples:
        samples = self.copy()
        samples.columns = self.columns.draft()
        samples.columns.set(atom.serial, start_column(seed, lo, hi, hint))
        samples.limits = self.limits.draft()
        samples.limits.set(atom.serial, (lo, hi))
        return samples

    def assume(self, fact: Fact, solved: list[tuple[Atom, Rule]]) -> Samples:
        """The samples that satisfy one more fact, which has eliminated symbols."""
        samples = self.copy()
        symbols = sorted(fact.prop.symbols | fact.domain.symbols, key=lambda atom: atom.serial)
        samples.touching = self.touching.draft()
        for atom in symbols:
            samples.touching.set(atom.serial, Touching(fact, samples.touching.get(atom.serial)))
        if solved:
            samples.dependents = self.dependents.draft()
            for atom, rule in solved:
                for symbol in sources(rule.image):
                    if symbol is not atom:
                        known = samples.dependents.get(symbol.serial) or ()
                        samples.dependents.set(symbol.serial, (*known, atom))
        if solved and all(self.is_free(atom) for atom, _ in solved):
            # no other fact is about what is eliminated, so every row may follow the equality
            samples.alive = ()
            samples = samples.recomputed(list(self.alive), solved, fact)
        else:
            truth = samples.truths(fact.prop)
            if fact.domain.kind != "true":
                truth = [a and b for a, b in zip(truth, samples.truths(fact.domain), strict=True)]
            samples.alive = samples.evaluable(tuple([row for row in self.alive if truth[row]]), fact.prop, fact.domain)
            if solved and len(samples.alive) < ROWS - 2:
                samples = samples.recomputed([row for row in self.alive if not truth[row]], solved, fact)
        return samples

    def is_free(self, atom: Atom) -> bool:
        """Return True if the symbol is declared and no fact but its range mentions it."""
        return self.touching.get(atom.serial) is None and self.columns.get(atom.serial) is not None

    def recomputed(self, rows: list[int], solved: list[tuple[Atom, Rule]], newest: Fact) -> Samples:
        """The samples with more rows alive: eliminated symbols take the value of their equality."""
        columns = self.columns.draft()
        moved: dict[Atom, None] = {}
        trial = self.copy()
        trial.columns, trial.cache = columns, {}
        for atom, rule in solved:
            old = self.columns.get(atom.serial)
            if old is None or atom.args or self.dependents.get(atom.serial):
                continue
            lo, hi = self.limits.get(atom.serial) or (None, None)
            image = trial.values(rule.image)
            rows = [row for row in rows if (lo is None or image[row] >= lo) and (hi is None or image[row] <= hi)]
            column = list(old)
            for row in rows:
                column[row] = image[row]
            columns.set(atom.serial, tuple(column))
            moved[atom] = None
            trial.cache = {}
        if not moved or not rows:
            return self
        for p in (newest.domain, newest.prop):  # it may not mention what it forces
            if p.kind != "true":
                truth = trial.truths(p)
                rows = list(trial.evaluable(tuple([row for row in rows if truth[row]]), p))
        if not rows:
            return self
        checked = {newest.serial}
        for atom in moved:
            touching = self.touching.get(atom.serial)
            if touching is not None and touching.count > TOUCHED:
                return self
            while touching is not None:
                if touching.fact.serial not in checked:
                    checked.add(touching.fact.serial)
                    for p in (touching.fact.domain, touching.fact.prop):
                        truth = trial.truths(p)
                        rows = list(trial.evaluable(tuple([row for row in rows if truth[row]]), p))
                    if not rows:
                        return self
                touching = touching.rest
        trial.alive = tuple(sorted((*self.alive, *rows)))
        # rows that fail keep their old values
        if len(rows) < ROWS:
            for atom in moved:
                old, new = self.columns.get(atom.serial), columns.get(atom.serial)
                assert old is not None and new is not None
                columns.set(atom.serial, tuple([new[row] if row in rows else old[row] for row in range(ROWS)]))
            trial.cache = {}
        return trial

    def with_row(self, row: int, moved: Mapping[Atom, int]) -> Samples:
        """The samples with one living row, some of its values changed."""
        samples = self.copy()
        samples.columns = self.columns.draft()
        for atom, value in moved.items():
            if atom.definition is None:
                column = list(samples.columns.get(atom.serial) or (0,) * ROWS)
                column[row] = value
                samples.columns.set(atom.serial, tuple(column))
        samples.cache = {}
        samples.alive = (row,)
        return samples

    # ------------------------------------------------------------------ columns

    def atom_column(self, atom: Atom) -> list[int]:
        found = self.cache.get(atom)
        if found is not None:
            return found
        if atom.kind == "symbol":
            column = self.columns.get(atom.serial)
            if column is not None:
                found = list(column)
            elif atom.definition is not None:
                found = self.values(atom.definition)
            else:
                found = [0] * ROWS
        else:
            pending = [atom]  # innermost first, so that nothing recurses through all the levels
            while pending:
                inside = [] if pending[-1] in self.cache else self._missing_inside(pending[-1])
                if inside:
                    pending += inside
                else:
                    inner = pending.pop()
                    if inner not in self.cache:
                        self.cache[inner] = self.operation_column(inner)
            return self.cache[atom]
        self.cache[atom] = found
        return found

    def _missing_inside(self, atom: Atom) -> list[Atom]:
        """The operations in its arguments whose columns are not known yet."""
        monomials = atom.expr.interner.monomials
        direct = [inner for e in arguments(atom) for m, _ in e.terms for inner in monomials[m]]
        return [inner for inner in direct if inner.args and inner not in self.cache]

    def operation_column(self, atom: Atom) -> list[int]:
        look()
        columns = [self.values(arg) if isinstance(arg, Expr) else self.truths(arg) for arg in operands(atom)]
        evaluate = atom.operation.evaluate
        if atom.kind == "power":
            evaluate = _looking(evaluate)  # each value may be long
        try:
            return list(map(evaluate, *columns))
        except OverflowError:
            found = [_tolerant(evaluate, row) for row in zip(*columns, strict=True)]
            self.cache[-atom.serial] = [row for row in range(ROWS) if found[row] is None]
            return [value or 0 for value in found]

    def values(self, e: Expr) -> list[int]:
        """The value of an expression in each row."""
        look()
        if len(e.terms) > LONG:
            return self._long_values(e)
        return self._plus([e.constant] * ROWS, e.terms, e.interner)

    def _long_values(self, e: Expr) -> list[int]:
        """The values of a long sum, from its difference to another sum: clamps of clamps are ever longer sums."""
        found = self.cache.get(e)
        if found is not None:
            return found.copy()
        total = [e.constant] * ROWS
        terms: Iterable[tuple[int, int]] = e.terms
        for other in self.longest:
            known = self.cache.get(other)
            if known is not None:
                own, others = set(e.terms), set(other.terms)
                more = own - others
                if len(more) < len(own) // 4:
                    terms = [*more, *[(m, -c) for m, c in others - own]]
                    total = [value - other.constant + e.constant for value in known]
                    break
        total = self._plus(total, terms, e.interner)
        self.longest = (e, *self.longest[:1])
        self.cache[e] = total.copy()
        return total

    def _plus(self, total: list[int], terms: Iterable[tuple[int, int]], interner: TermTable) -> list[int]:
        """Add terms to a column of values."""
        monomials = interner.monomials
        cache = self.cache
        for m, c in terms:
            column = cache.get(m)
            if column is None:
                atoms = monomials[m]
                column = self.atom_column(atoms[0])
                for atom in atoms[1:]:
                    column = _product(column, self.atom_column(atom))
                cache[m] = column
            # by index, which is compiled to half the work of a comprehension over pairs
            if c == 1:
                for row in range(ROWS):
                    total[row] += column[row]
            elif c == -1:
                for row in range(ROWS):
                    total[row] -= column[row]
            else:
                for row in range(ROWS):
                    total[row] += c * column[row]
        return total

    def truths(self, p: Prop) -> list[bool]:
        """The truth value of the proposition in each row."""
        match p.kind:
            case "ge":
                return [x >= 0 for x in self.values(p.expr)]
            case "eq":
                return [x == 0 for x in self.values(p.expr)]
            case "ne":
                return [x != 0 for x in self.values(p.expr)]
            case "and" | "or":
                if p.written > SHARING:
                    return self._shared_truths(p)
                return _joined(p, [self.truths(part) for part in p.parts])
            case _:
                return [p.kind == "true"] * ROWS

    def _shared_truths(self, p: Prop) -> list[bool]:
        """The truths of a compound, those of each node computed once."""
        found: dict[Prop, list[bool]] = {}
        for node in p.nodes:
            found[node] = _joined(node, [found[part] for part in node.parts]) if node.parts else self.truths(node)
        return found[p]

    def evaluable(self, rows: tuple[int, ...], *props: Prop) -> tuple[int, ...]:
        """The rows in which no operation of the propositions was too large to compute; valid after their truths are
        computed.
        """
        if all(_is_plain(p) for p in props):
            return rows
        pending: list[Expr | Prop] = list(props)
        seen: set[Expr | Prop] = set()  # definitions share names
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            pending += [atom.definition for atom in node.symbols if atom.definition is not None]
            for atom in node.schedule:
                if atom.kind in ("power", "function"):
                    self.atom_column(atom)
                    beyond = self.cache.get(-atom.serial)
                    if beyond:
                        rows = tuple([row for row in rows if row not in beyond])
        return rows

    def classify(self, p: Prop, domain: Prop | None = None) -> tuple[int | None, int | None]:
        """A living row where the proposition is true, and one where it is false."""
        truth = self.truths(p)
        inside = None if domain is None or domain.kind == "true" else self.truths(domain)
        yes = no = None
        alive = self.evaluable(self.alive, p) if domain is None else self.evaluable(self.alive, p, domain)
        for row in alive:
            if inside is not None and not inside[row]:
                continue
            if truth[row]:
                if yes is None:
                    yes = row
                    if no is not None:
                        break
            elif no is None:
                no = row
                if yes is not None:
                    break
        return yes, no

    # ------------------------------------------------------------------ assignments

    def row_values(self, symbols: Sequence[Atom], row: int) -> dict[Atom, int]:
        """The values of symbols in a row."""
        columns = self.columns
        found: dict[Atom, int] = {}
        for atom in symbols:
            column = columns.get(atom.serial)
            found[atom] = 0 if column is None else column[row]
        return found


def _product(column: list[int], other: list[int]) -> list[int]:
    found = []
    for row in range(ROWS):
        look()  # powers are long numbers
        found.append(column[row] * other[row])
    return found


def _looking(evaluate: Evaluate) -> Evaluate:
    """The evaluation of an operation, before which the deadline is looked at."""

    def looking(*values: int) -> int:
        look()
        return evaluate(*values)

    return looking


def _joined(p: Prop, parts: list[list[bool]]) -> list[bool]:
    """The truth of a compound in each row, from those of its parts."""
    decisive = p.kind == "or"
    found = parts[0].copy()
    for truth in parts[1:]:
        for row in range(ROWS):
            if found[row] is not decisive:
                found[row] = truth[row]
    return found


def _is_plain(p: Prop) -> bool:
    """Return True if the proposition mentions only declared symbols and no operations."""
    return not p.schedule and all(atom.definition is None for atom in p.symbols)


def _tolerant(evaluate: Evaluate, values: tuple[int, ...]) -> int | None:
    """A value, or None where it is too large to compute, which makes the row inconclusive (`Samples.evaluable`)."""
    try:
        return evaluate(*values)
    except OverflowError:
        return None
