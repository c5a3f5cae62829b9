"""Taking in a fact: what it says directly, and what follows at once.

A `Draft` is knowledge being extended; `solver.facts` makes one from a value, learns into it and hands out a new value. Learning a proposition

- records an inequality as a bound of its linear form (or monomial), and propagates bounds a bounded number of steps;
- solves an equality for an atom (or rewrites its largest monomial) and restates what was known of that atom;
- records an excluded value, and moves a bound that it sits on;
- keeps a disjunction and, once all parts but one are refuted, learns that one.

Each derived statement keeps the reason it was derived by. A contradiction ends the draft with the reason of false.

    >>> from solver.interner import Interner
    >>> from solver.facts import Facts
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 9).declare_range(y, 0, None)
    >>> known = known.assume_prop(terms.ge(x, y + 2))
    >>> known.high(y)
    7
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import Final

from solver.division import common_atoms, divide_atoms
from solver.explain import prove_bound, prove_nonnegative, prove_side
from solver.expr import Atom, Expr
from solver.fact import Fact
from solver.intervals import root
from solver.knowledge import Entry, Knowledge, Range, Rule, Uses, form_key
from solver.prop import Prop
from solver.reasons import Reason, combine, equal, hypothesis, part, refute, strengthen, times
from solver.rewriting import Round, apply_round_to_prop, divides
from solver.roots import root_bound
from solver.settled import prove_by_intervals, prove_nonzero, settled_rule

STEPS: Final = 160
"""Statements learned from one fact; what is left then is not derived (it may still be proven when asked)."""
GROUPS: Final = 32
"""Products with bounds of their own that are looked for inside larger products."""
NEIGHBOURS: Final = 24
"""Forms looked at when the bounds of one atom move."""
MOVES: Final = 8
"""How often one fact may move the same bound: `x >= y + 1` and `y >= x + 1` would walk on for ever."""
DEGREE: Final = 8
"""Polynomials of one atom up to this degree bound it."""
UNFOLDED: Final = 8
BITS: Final = 512
"""Bounds longer than this move no further: `x >= x*x + 1` would double their length with every step."""


class Contradictory(Exception):
    """The facts contradict each other; `reason` concludes false."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class Draft(Knowledge):
    """Knowledge while it is being extended."""

    __slots__ = ("moved", "moves", "new_solved", "queue", "steps")

    def __init__(self, base: Knowledge) -> None:
        self.interner = base.interner
        self.ranges = base.ranges.draft()
        self.forms = base.forms.draft()
        self.excluded = base.excluded.draft()
        self.solved = base.solved.draft()
        self.uses = base.uses.draft()
        self.product_rules = base.product_rules
        self.bounded_products = base.bounded_products
        self.forget()
        self.queue: deque[tuple[Prop, Reason]] = deque()
        self.moved: deque[Atom] = deque()
        self.new_solved: list[tuple[Atom, Rule]] = []
        self.moves: Counter[tuple[int, bool]] = Counter()
        self.steps = 0

    def learn_fact(self, fact: Fact) -> None:
        """Everything a fact says, its domain first.

        Raises:
            Contradictory: with the reason of false.
        """
        if fact.domain.kind != "true":
            self.queue.append((fact.domain, Reason("domain", fact.domain, fact=fact)))
        self.queue.append((fact.prop, Reason("fact", fact.prop, fact=fact)))
        self.run()

    def run(self) -> None:
        """Work the queue until nothing new follows, or the steps are used up."""
        while True:
            if self.queue:
                if self.steps > 2 * STEPS:
                    return
                prop, reason = self.queue.popleft()
                self.learn(prop, reason)
            elif self.moved and self.steps < STEPS:
                self.spread(self.moved.popleft())
            else:
                return

    def learn(self, prop: Prop, reason: Reason) -> None:
        self.steps += 1
        if prop.kind == "and":
            self.queue.extendleft([(p, part(reason, i)) for i, p in enumerate(prop.parts)][::-1])
            return
        prop, reason = self.restated(prop, reason)
        match prop.kind:
            case "true":
                return
            case "false":
                raise Contradictory(reason)
            case "and":
                self.queue.extendleft([(p, part(reason, i)) for i, p in enumerate(prop.parts)][::-1])
            case "or":
                self.learn_disjunction(prop, reason)
            case "ge":
                self.learn_nonzero_factors(prop, reason)
                self.learn_inequality(prop, reason)
            case "eq":
                self.learn_nonzero_factors(prop, reason)
                self.learn_equality(prop, reason)
            case "ne":
                self.learn_nonzero_factors(prop, reason)
                self.learn_disequality(prop, reason)

    def restated(self, prop: Prop, reason: Reason) -> tuple[Prop, Reason]:
        """The proposition with everything substituted, and why."""
        new, rounds = self.canonical_prop(prop)
        if new is prop:
            return prop, reason
        return new, rewritten(new, reason, rounds)

    def learn_nonzero_factors(self, prop: Prop, reason: Reason) -> None:
        """An atom in every monomial is not zero if the statement is false without it: `r + r*t >= 1` says `r != 0`."""
        e = prop.expr
        if len(e.terms) == 1 and len(self.interner.monomials[e.terms[0][0]]) == 1:
            return
        if (e.constant >= 0) if prop.kind == "ge" else (e.constant == 0) != (prop.kind == "ne"):
            return
        for atom in sorted(common_atoms(self.interner, e), key=lambda atom: atom.key):
            goal = Prop.zero(atom.expr).negation
            if prove_nonzero(self, goal) is None:
                self.queue.append((goal, Reason("factor-nonzero", goal, (reason,), atom)))

    # ------------------------------------------------------------------ inequalities

    def learn_inequality(self, prop: Prop, reason: Reason) -> None:
        e = prop.expr
        form, k = e.form()
        if form.degree > 1:
            self.bound_by_roots(e, reason)
        if len(form.terms) == 1:
            if self.set_bound(form.terms[0][0], k > 0, -e.constant if k > 0 else e.constant, reason):
                self.note(prop, reason)
            return
        self.learn_by_division(prop, reason)
        self.learn_cofactors(prop, reason)
        if self.set_form_bound(form, k > 0, -e.constant if k > 0 else e.constant, reason):
            self.note(prop, reason)
            self.propagate(form)

    def learn_by_division(self, prop: Prop, reason: Reason) -> None:
        """`m*p >= 0` with m > 0 known also says `p >= 0`."""
        smaller = without_factors(self, prop)
        if smaller is not None:
            self.queue.append((smaller.goal, factored(smaller, smaller.goal, reason)))

    def learn_cofactors(self, prop: Prop, reason: Reason) -> None:
        """`a*L >= c` with c > 0 and a not negative also says `L >= 1`: or else the product were at most zero."""
        e = prop.expr
        if e.constant >= 0:
            return
        whole = e - e.constant
        for atom in sorted(common_atoms(self.interner, whole), key=lambda atom: atom.key):
            low = self.range_of(atom.monomial).lo
            if low is None or low < 0:
                continue
            rest = divide_atoms(self.interner, whole, Counter([atom]))
            goal = self.interner.ge(rest, 1)
            if goal.kind == "ge" and prove_by_intervals(self, goal) is None:
                opposite = times(prove_side(self, atom.expr, True, 0), hypothesis(goal.negation))
                false = combine([reason, opposite], [1, size_of(whole)] if opposite.conclusion.terms else [1, 1])
                if false.conclusion.kind == "false":
                    self.queue.append((goal, refute(false, goal)))

    def note(self, prop: Prop, reason: Reason) -> None:
        """Index a learned statement by the atoms it mentions."""
        entry = Entry(prop, reason)
        for atom in sorted(prop.atoms, key=lambda atom: atom.serial):
            self.uses.set(atom.serial, Uses(entry, self.uses.get(atom.serial)))

    def set_bound(self, m: int, lower: bool, value: int, reason: Reason) -> bool:
        """Record a bound of a monomial; whether it says something new."""
        current = self.range_of(m)
        if lower:
            if current.lo is not None and current.lo >= value:
                return False
            if current.hi is not None and value > current.hi:
                raise Contradictory(combine([reason, prove_bound(self, m, False, current.hi)], [1, 1]))
        else:
            if current.hi is not None and current.hi <= value:
                return False
            if current.lo is not None and value < current.lo:
                raise Contradictory(combine([reason, prove_bound(self, m, True, current.lo)], [1, 1]))
        if self.moved_enough(m, lower, value):
            return False
        recorded = self.ranges.get(m)
        lo, hi, lo_reason, hi_reason = (None, None, None, None) if recorded is None else (recorded.lo, recorded.hi, recorded.lo_reason, recorded.hi_reason)
        if lower:
            lo, lo_reason = value, reason
        else:
            hi, hi_reason = value, reason
        self.ranges.set(m, Range(lo, hi, lo_reason, hi_reason, recorded))
        self.forget()
        atoms = self.interner.monomials[m]
        for atom in dict.fromkeys(atoms):
            self.moved.append(atom)
        if len(atoms) > 1:
            if m not in self.bounded_products and len(self.bounded_products) < GROUPS:
                self.bounded_products = (*self.bounded_products, m)
            self.bound_factors(m, atoms)
        elif atoms[0].args:
            self.bound_arguments(atoms[0], lower, value, reason)
        tight = self.range_of(m)
        if tight.lo is not None and tight.lo == tight.hi:
            above, below = prove_bound(self, m, True, tight.lo), prove_bound(self, m, False, tight.lo)
            meeting = equal(above, below)
            self.queue.append((meeting.conclusion, meeting))
        else:
            self.skip_excluded(self.interner.expr(((m, 1),), 0), lower, value, reason)
        return True

    def moved_enough(self, key: int, lower: bool, value: int) -> bool:
        """Whether a bound has moved so often, or so far, that this fact shall not move it again."""
        side = (key, lower)
        moves = self.moves[side] + 1
        self.moves[side] = moves
        return moves > MOVES or (moves > 2 and value.bit_length() > BITS)

    def skip_excluded(self, form: Expr, lower: bool, value: int, reason: Reason) -> None:
        """A bound that sits on an excluded value moves past it."""
        if not self.excluded.count:
            return
        values = self.excluded.get(form_key(form))
        if values is not None and value in values:
            stronger = strengthen(reason, values[value])
            self.queue.append((stronger.conclusion, stronger))

    def bound_factors(self, m: int, atoms: tuple[Atom, ...]) -> None:
        """`x*y <= c` with both positive: each is at most c over the least value of the other."""
        r = self.range_of(m)
        lows = [self.range_of(atom.monomial).lo for atom in atoms]
        if any(low is None or low < 0 for low in lows):
            if r.hi is not None and atoms[0] is atoms[-1]:
                whole = self.interner.expr(((m, 1),), 0)
                self.bound_by_roots(r.hi - whole, prove_bound(self, m, False, r.hi))
            return
        for atom in dict.fromkeys(atoms):
            single = atom.expr
            if r.hi is not None and r.hi >= 0 and all(low is not None and low >= 1 for low in lows):
                rest = list(atoms)
                power = rest.count(atom)
                others = 1
                for other in rest:
                    if other is not atom:
                        other_low = self.range_of(other.monomial).lo
                        assert other_low is not None
                        others *= other_low
                bound = root(r.hi // others, power)
                high = self.range_of(atom.monomial).hi
                if high is None or bound < high:
                    premises = (prove_bound(self, m, False, r.hi), *[self._at_least(a) for a in dict.fromkeys(atoms) if a is not atom])
                    goal = Prop.nonnegative(bound - single)
                    self.queue.append((goal, Reason("factor-bounded", goal, premises, (m, atom))))

    def bound_by_roots(self, e: Expr, reason: Reason) -> None:
        """`p(x) >= 0` for a polynomial of one atom that is negative beyond some value: x lies before it."""
        monomials = self.interner.monomials
        atom = monomials[e.terms[0][0]][0]
        if e.degree > DEGREE or any(other is not atom for m, _ in e.terms for other in monomials[m]):
            return
        r = self.range_of(atom.monomial)
        for lower in (True, False):
            end = root_bound(e, atom, lower=lower)
            known = r.lo if lower else r.hi
            if end is None or known is not None and (known >= end if lower else known <= end):
                continue
            goal = Prop.nonnegative(atom.expr - end if lower else end - atom.expr)
            beyond = hypothesis(goal.negation)
            negative = Reason("shift", Prop.nonnegative(-e - 1), (beyond,), ((atom, (end - 1 if lower else end + 1, not lower)),))
            proof = refute(combine([reason, negative], [1, 1]), goal)
            self.queue.append((goal, proof))

    def _at_least(self, atom: Atom) -> Reason:
        low = self.range_of(atom.monomial).lo
        assert low is not None
        return prove_bound(self, atom.monomial, True, low)

    def bound_arguments(self, atom: Atom, lower: bool, value: int, reason: Reason) -> None:
        """What a bound of an atom says of its arguments."""
        match atom.kind, atom.args:
            case "floordiv", (Expr() as n, Expr() as d):
                low = self.low(d)
                if low is None or low < 1 or (not d.is_constant and value < 0):
                    return
                # q >= v gives n - d*v >= 0; q <= v gives d*v + d - 1 - n >= 0
                law = floordiv_law(self, atom, lower)
                if d.is_constant:
                    bound = combine([law, reason], [1, d.constant])
                    self.queue.append((bound.conclusion, bound))
                    return
                scaled = times_nonnegative(self, reason, d)
                if scaled is not None:
                    bound = combine([law, scaled], [size_of(law_expr(atom, lower)), size_of(reason.conclusion.expr * d)])
                    self.queue.append((bound.conclusion, bound))
            case "relu", (Expr() as e,):
                if lower and value > 0:
                    goal = Prop.nonnegative(e - value)
                    self.queue.append((goal, Reason("axiom", goal, (reason,), (atom, "at least"))))
                elif not lower:
                    law = Reason("axiom", Prop.nonnegative(atom.expr - e), (), (atom, "above argument"))
                    bound = combine([reason, law], [1, 1])
                    self.queue.append((bound.conclusion, bound))

    def set_form_bound(self, form: Expr, lower: bool, value: int, reason: Reason) -> bool:
        """Record a bound of a linear form; whether it says something new."""
        current_low, current_high = self.low(form), self.high(form)
        if lower:
            if current_low is not None and current_low >= value:
                return False
            if current_high is not None and value > current_high:
                raise Contradictory(self._clash(reason, form, False, current_high))
        else:
            if current_high is not None and current_high <= value:
                return False
            if current_low is not None and value < current_low:
                raise Contradictory(self._clash(reason, form, True, current_low))
        if self.moved_enough(-form_key(form), lower, value):
            return False
        recorded = self.forms.get(form_key(form))
        lo, hi, lo_reason, hi_reason = (None, None, None, None) if recorded is None else (recorded.lo, recorded.hi, recorded.lo_reason, recorded.hi_reason)
        if lower:
            lo, lo_reason = value, reason
        else:
            hi, hi_reason = value, reason
        self.forms.set(form_key(form), Range(lo, hi, lo_reason, hi_reason, recorded))
        self.forget()
        low, high = self.low(form), self.high(form)
        if low is not None and low == high:
            meeting = equal(prove_side(self, form, True, low), prove_side(self, form, False, low))
            self.queue.append((meeting.conclusion, meeting))
        else:
            self.skip_excluded(form, lower, value, reason)
        return True

    def _clash(self, reason: Reason, form: Expr, lower: bool, value: int) -> Reason:
        other = prove_side(self, form, lower, value)
        return combine([reason, other], [1, 1])

    # ------------------------------------------------------------------ propagation

    def spread(self, atom: Atom) -> None:
        """Look again at what mentions an atom whose bounds moved."""
        uses = self.uses.get(atom.serial)
        looked = 0
        while uses is not None and looked < NEIGHBOURS and self.steps < STEPS:
            prop = uses.entry.prop
            if prop.kind == "ge" and len(prop.terms) > 1:
                self.propagate(prop.expr.form()[0])
                looked += 1
            elif prop.kind == "or":
                self.queue.append((prop, uses.entry.reason))
                looked += 1
            elif prop.kind == "ne" and not atom.args:
                self.check_excluded_end(prop, uses.entry.reason)
                looked += 1
            elif prop.kind == "eq" and prop.schedule:
                unfolded = unfold(self, uses.entry.reason)
                if unfolded is not None:
                    self.queue.append((unfolded.conclusion, unfolded))
                looked += 1
            elif prop.kind == "eq" and len(prop.terms) > 1:
                self.propagate(prop.expr.form()[0])
                looked += 1
            uses = uses.rest

    def check_excluded_end(self, prop: Prop, reason: Reason) -> None:
        """`form != v` where v has become the least or largest value."""
        e = prop.expr
        for lower in (True, False):
            bound = self.low(e) if lower else self.high(e)
            if bound == 0:
                stronger = strengthen(prove_side(self, e, lower, 0), reason)
                self.queue.append((stronger.conclusion, stronger))

    def propagate(self, form: Expr) -> None:
        """Bounds of each term of a form from the bounds of the form and of the other terms."""
        recorded = self.forms.get(form_key(form))
        if recorded is None or len(form.terms) > 40:
            return
        self.steps += 1
        for lower in (True, False):
            bound = recorded.lo if lower else recorded.hi
            reason = recorded.lo_reason if lower else recorded.hi_reason
            if bound is None or reason is None:
                continue
            # lower: sum c*m >= bound, so c_i*m_i >= bound - (upper bound of the others)
            total, open_terms = 0, []
            ends: list[int | None] = []
            for m, c in form.terms:
                r = self.range_of(m)
                end = r.hi if (c > 0) == lower else r.lo
                ends.append(end)
                if end is None:
                    open_terms.append(m)
                else:
                    total += c * end
            if len(open_terms) > 1:
                continue
            for (m, c), end in zip(form.terms, ends, strict=True):
                if open_terms and m != open_terms[0]:
                    continue
                others = total if end is None else total - c * end
                need = bound - others
                r = self.range_of(m)
                raises = (c > 0) == lower
                value = (-(-need // c) if raises else need // c) if c > 0 else (need // c if not raises else -(-need // c))
                if raises and (r.lo is None or value > r.lo) or not raises and (r.hi is None or value < r.hi):
                    derived = self._propagated(form, m, lower, reason)
                    if derived is not None:
                        self.queue.append((derived.conclusion, derived))

    def _propagated(self, form: Expr, m: int, lower: bool, reason: Reason) -> Reason:
        premises, multipliers = [reason], [1]
        for other, c in form.terms:
            if other == m:
                continue
            r = self.range_of(other)
            high = (c > 0) == lower
            end = r.hi if high else r.lo
            assert end is not None
            premises.append(prove_bound(self, other, not high, end))
            multipliers.append(abs(c))
        return combine(premises, multipliers)

    # ------------------------------------------------------------------ equalities

    def learn_equality(self, prop: Prop, reason: Reason) -> None:
        e = prop.expr
        smaller = without_factors(self, prop)
        if smaller is not None:
            self.queue.append((smaller.goal, factored(smaller, smaller.goal, reason)))
            return
        form, _ = e.form()
        if len(form.terms) == 1 and len(self.interner.monomials[form.terms[0][0]]) == 1:
            for sign in (1, -1):
                side = combine([reason], [sign])
                self.set_bound(form.terms[0][0], sign > 0, -e.constant, side)
        chosen = self.atom_to_solve(e)
        if chosen is not None:
            self.solve(chosen, prop, reason)
            return
        self.note(prop, reason)
        if form.degree > 1:
            for sign in (1, -1):
                self.bound_by_roots(e * sign, combine([reason], [sign]))
        if len(form.terms) > 1:
            self.pin_form(form, -e.constant, reason)
            self.rewrite_product(prop, reason)
        elif len(self.interner.monomials[form.terms[0][0]]) > 1:
            self.pin_monomial(form.terms[0][0], e, reason)

    def pin_form(self, form: Expr, value: int, reason: Reason) -> None:
        """An equality is two bounds of its form, which are also propagated."""
        above, below = combine([reason], [1]), combine([reason], [-1])
        recorded = self.forms.get(form_key(form))
        current_low, current_high = self.low(form), self.high(form)
        if current_low is not None and current_low > value:
            raise Contradictory(combine([below, prove_side(self, form, True, current_low)], [1, 1]))
        if current_high is not None and current_high < value:
            raise Contradictory(combine([above, prove_side(self, form, False, current_high)], [1, 1]))
        self.forms.set(form_key(form), Range(value, value, above, below, recorded))
        self.forget()
        self.propagate(form)

    def pin_monomial(self, m: int, e: Expr, reason: Reason) -> None:
        """`x*y == v`."""
        for sign in (1, -1):
            side = combine([reason], [sign])
            form, k = side.conclusion.expr.form()
            del form
            constant = side.conclusion.expr.constant
            self.set_bound(m, k > 0, -constant if k > 0 else constant, side)

    def atom_to_solve(self, e: Expr) -> Atom | None:
        """The atom to eliminate: coefficient 1 or -1 and in no other monomial.

        Symbols first, those that no division or relu of the equality contains before the others, then the least used, then the newest; a
        composite atom if there is no such symbol.
        """
        best: tuple[object, ...] | None = None
        chosen = None
        monomials = self.interner.monomials
        for m, c in e.terms:
            atoms = monomials[m]
            if abs(c) != 1 or len(atoms) != 1:
                continue
            atom = atoms[0]
            others = [other for n, _ in e.terms if n != m for other in monomials[n]]
            if atom in others:
                continue
            inside = any(other.args and atom in other.expr.atoms for other in others)
            if inside and (atom.args or atom.definition is not None):
                continue
            uses = self.uses.get(atom.serial)
            used = 0 if uses is None else uses.count.bit_length()
            rank = (len(atom.args) > 0, inside, used, -atom.key[1] if not atom.args else 0, -atom.depth, atom.serial)
            if best is None or rank < best:
                best, chosen = rank, atom
        return chosen

    def solve(self, atom: Atom, prop: Prop, reason: Reason) -> None:
        """Eliminate an atom: `atom == image`; other atoms that contain it get a name of their own first."""
        interner = self.interner
        e = prop.expr
        names: dict[Atom, Expr] = {}
        for m, _ in e.terms:
            for other in interner.monomials[m]:
                if other is not atom and other not in names and atom in other.expr.atoms:
                    names[other] = interner.name_of(other.expr)
        if names:
            steps = tuple((other.monomial, name, definition_of(other.expr, name)) for other, name in names.items())
            reason = rewritten(apply_round_to_prop(prop, steps), reason, (steps,))
            prop = reason.conclusion
            e = prop.expr
        c = next(k for m, k in e.terms if m == atom.monomial)
        image = atom.expr - e if c > 0 else atom.expr + e
        rule = Rule(image, reason)
        self.solved.set(atom.monomial, rule)
        self.new_solved.append((atom, rule))
        self.forget()
        self.restate(atom)
        if atom.args:
            self.note(prop, reason)
            self.queue.extend((law.conclusion, law) for law in laws_of(self, atom))
        for other, name in names.items():
            definition = definition_of(other.expr, name)
            self.queue.append((definition.conclusion, definition))
            for lower in (True, False):
                bound = self.range_of(other.monomial).lo if lower else self.range_of(other.monomial).hi
                if bound is not None:
                    proof = prove_bound(self, other.monomial, lower, bound)
                    known = combine([proof, definition], [1, _sign_of(definition, other) * (-1 if lower else 1)])
                    self.queue.append((known.conclusion, known))

    def change_variable(self, prop: Prop, reason: Reason) -> bool:
        """An equality of single atoms without a coefficient of 1: Euclid's step on its smallest coefficient.

        With `c_i = c*q_i + r_i`, `c*x + sum(c_i*x_i)` is `c*(x + sum(q_i*x_i)) + sum(r_i*x_i)`: a name for what is in brackets replaces x, and the
        coefficients get smaller until one is 1 (Knuth, The Art of Computer Programming, 4.5.2).
        """
        interner = self.interner
        e = prop.expr
        if len(e.terms) < 2 or any(len(interner.monomials[m]) != 1 for m, _ in e.terms):
            return False
        atoms = [(interner.monomials[m][0], c) for m, c in e.terms]
        free = [
            (abs(c), len(atom.args) > 0, atom.key, atom, c)
            for atom, c in atoms
            if not any(other is not atom and atom in other.expr.atoms for other, _ in atoms)
        ]
        if not free or min(free)[0] > min(abs(c) for _, c in atoms):
            return False
        _, _, _, chosen, c = min(free, key=lambda each: each[:3])
        rest = interner.sum([interner.scale(atom.expr, (2 * k + abs(c)) // (2 * c)) for atom, k in atoms if atom is not chosen])
        name = interner.name_of(chosen.expr + rest)
        definition = definition_of(chosen.expr + rest, name)
        rule = Rule(name - rest, definition)
        self.solved.set(chosen.monomial, rule)
        self.new_solved.append((chosen, rule))
        self.forget()
        self.restate(chosen)
        if chosen.args:
            self.queue.extend((law.conclusion, law) for law in laws_of(self, chosen))
        self.queue.append((prop, reason))
        return True

    def restate(self, atom: Atom) -> None:
        """What was known of an eliminated atom, in terms of the others."""
        seen: set[int] = set()
        uses = self.uses.get(atom.serial)
        while uses is not None:
            entry = uses.entry
            if id(entry) not in seen:
                seen.add(id(entry))
                self.queue.append((entry.prop, entry.reason))
            uses = uses.rest
        r = self.ranges.get(atom.monomial)
        while r is not None:
            for reason in (r.lo_reason, r.hi_reason):
                if reason is not None:
                    self.queue.append((reason.conclusion, reason))
            r = None

    def rewrite_product(self, prop: Prop, reason: Reason) -> None:
        """An equality without a linear atom to solve rewrites its largest monomial, if its coefficient is 1 or -1."""
        e = prop.expr
        lead, c = e.lead()
        if abs(c) != 1 or len(self.interner.monomials[lead]) < 2:
            return
        whole = self.interner.expr(((lead, 1),), 0)
        image = whole - e if c > 0 else whole + e
        if any(lead == m for m, _ in image.terms) or _occurs_inside(self.interner.monomials[lead], image):
            return
        # what the other side says of the product must reach its factors before it is replaced everywhere
        for lower, bound in ((True, self.low(image)), (False, self.high(image))):
            if bound is not None:
                side = combine([reason, prove_side(self, image, lower, bound)], [c if lower else -c, size_of(image)])
                end = -side.conclusion.expr.constant
                self.set_bound(lead, lower, end if lower else -end, side)
        before = self.range_of(lead)
        rule = Rule(image, reason)
        for lower, bound in ((True, before.lo), (False, before.hi)):
            if bound is not None:
                proof = prove_bound(self, lead, lower, bound)
                self.queue.append((proof.conclusion, proof))
        self.product_rules = (*self.product_rules, (lead, rule))
        self.forget()

    # ------------------------------------------------------------------ disequalities and disjunctions

    def learn_disequality(self, prop: Prop, reason: Reason) -> None:
        e = prop.expr
        if prove_nonzero(self, prop) is not None:
            return
        smaller = without_factors(self, prop)
        if smaller is not None:
            self.queue.append((smaller.goal, factored(smaller, smaller.goal, reason)))
            return
        low, high = self.low(e), self.high(e)
        if low == 0 == high:
            zero = equal(prove_side(self, e, True, 0), prove_side(self, e, False, 0))
            raise Contradictory(Reason("clash", self.interner.false, (zero, reason)))
        form, _ = e.form()
        key = form_key(form)
        values = dict(self.excluded.get(key) or {})
        values[-e.constant] = reason
        self.excluded.set(key, values)
        self.forget()
        self.note(prop, reason)
        if len(form.terms) == 1 and not e.constant:
            self.divide_uses(form)
        if low == 0 or high == 0:
            self.check_excluded_end(prop, reason)

    def divide_uses(self, form: Expr) -> None:
        """Statements with a factor that is now known not to be zero."""
        atom = self.interner.monomials[form.terms[0][0]][0]
        uses = self.uses.get(atom.serial)
        for _ in range(NEIGHBOURS):
            if uses is None:
                break
            prop = uses.entry.prop
            if prop.kind in ("eq", "ne") and not prop.expr.constant and len(prop.terms) > 1:
                smaller = without_factors(self, prop)
                if smaller is not None:
                    self.queue.append((smaller.goal, factored(smaller, smaller.goal, uses.entry.reason)))
            uses = uses.rest

    def learn_disjunction(self, prop: Prop, reason: Reason) -> None:
        """Parts that the bounds refute are dropped; a last part is a fact."""
        refuted: list[Reason] = []
        left: list[Prop] = []
        for p in prop.parts:
            if prove_by_intervals(self, p) is not None:
                return
            against = prove_by_intervals(self, p.negation)
            if against is None:
                left.append(p)
            else:
                refuted.append(against)
        goal = Prop.join(self.interner, "or", left)
        if refuted:
            reason = Reason("remaining", goal, (reason, *refuted))
        if len(left) <= 1:
            self.queue.append((goal, reason))
        elif refuted or not self._noted(prop):
            self.note(goal, reason)
            self.bound_by_hull(goal, reason)

    def _noted(self, prop: Prop) -> bool:
        atom = min(prop.atoms, key=lambda atom: atom.serial)
        uses = self.uses.get(atom.serial)
        for _ in range(NEIGHBOURS):
            if uses is None:
                return False
            if uses.entry.prop is prop:
                return True
            uses = uses.rest
        return False

    def bound_by_hull(self, prop: Prop, reason: Reason) -> None:
        """`x == 1 or x == 5` says `1 <= x <= 5`."""
        forms = {p.expr.form()[0] for p in prop.parts if p.kind in ("ge", "eq")}
        if len(forms) != 1 or any(p.kind not in ("ge", "eq") for p in prop.parts):
            return
        (form,) = forms
        for lower in (True, False):
            ends = []
            for p in prop.parts:
                k, constant = p.expr.form()[1], p.expr.constant
                if p.kind == "eq":
                    ends.append(-constant // k)
                elif (k > 0) == lower:
                    ends.append(-constant if k > 0 else constant)
            if len(ends) == len(prop.parts):
                bound = min(ends) if lower else max(ends)
                goal = Prop.nonnegative(form - bound if lower else bound - form)
                branches = []
                for p, end in zip(prop.parts, ends, strict=True):
                    assumed = Reason("hypothesis", p)
                    if p.kind == "eq":
                        sign = p.expr.form()[1] if lower else -p.expr.form()[1]
                        branches.append(combine([assumed], [sign], end - bound if lower else bound - end))
                    else:
                        branches.append(combine([assumed], [1], end - bound if lower else bound - end))
                self.queue.append((goal, Reason("cases", goal, (reason, *branches))))


def unfold(known: Knowledge, reason: Reason) -> Reason | None:
    """An equality that replaces an operation, where its arguments by now settle it: what that makes of the equality."""
    p = reason.conclusion
    rounds: list[Round] = []
    settled = False
    for _ in range(UNFOLDED):
        steps = []
        for atom in sorted(p.atoms, key=lambda atom: atom.serial):
            rule = settled_rule(known, atom) if atom.args else known.solved.get(atom.monomial)
            if rule is not None:
                steps.append((atom.monomial, rule.image, rule.reason))
                settled = settled or bool(atom.args)
        if not steps:
            break
        new = apply_round_to_prop(p, tuple(steps))
        if new is p:
            break
        rounds.append(tuple(steps))
        p = new
    return rewritten(p, reason, tuple(rounds)) if settled and p.kind != "true" else None


def _occurs_inside(product: tuple[Atom, ...], image: Expr) -> bool:
    """Whether an argument of an atom of the image has the product: a rule would nest the image in itself, round after round."""
    monomials = image.interner.monomials
    for atom in image.schedule:
        for arg in atom.args:
            for e in (arg,) if isinstance(arg, Expr) else [p.expr for p in arg.comparisons()]:
                if any(divides(product, monomials[m]) for m, _ in e.terms):
                    return True
    return False


def _sign_of(definition: Reason, atom: Atom) -> int:
    """The coefficient of the atom in the equality that names it."""
    return next(c for m, c in definition.conclusion.expr.terms if m == atom.monomial)


def definition_of(e: Expr, name: Expr) -> Reason:
    """`name == e`, by definition of the name."""
    return Reason("definition", Prop.zero(name - e), (), (e, name))


def rewritten(goal: Prop, premise: Reason | None, rounds: tuple[Round, ...]) -> Reason:
    """A statement with equalities substituted; the rounds lead from the premise to the goal, or from the goal to the premise."""
    statement = () if premise is None else (premise,)
    equalities = tuple(reason for steps in rounds for _, _, reason in steps)
    shape = tuple(tuple((m, image) for m, image, _ in steps) for steps in rounds)
    return Reason("rewrite", goal, statement + equalities, shape)


def law_expr(atom: Atom, lower: bool) -> Expr:
    """`n - d*q` or `d*q + d - 1 - n`: not negative for q = n // d and d >= 1."""
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    return n - d * atom.expr if lower else d * atom.expr + d - 1 - n


def floordiv_law(known: Knowledge, atom: Atom, lower: bool) -> Reason:
    """The law that a lower (or upper) bound of a quotient is used with, for a divisor known to be positive."""
    d = atom.args[1]
    assert isinstance(d, Expr)
    premises = () if d.is_constant else (prove_side(known, d, True, 1),)
    return Reason("axiom", Prop.nonnegative(law_expr(atom, lower)), premises, (atom, "below" if lower else "above"))


def laws_of(known: Knowledge, atom: Atom) -> list[Reason]:
    """What holds of a composite atom by its definition, as inequalities."""
    match atom.kind, atom.args:
        case "floordiv", (_, Expr() as d):
            low = d.constant if d.is_constant else known.low(d)
            return [floordiv_law(known, atom, lower) for lower in (True, False)] if low is not None and low >= 1 else []
        case "relu", (Expr() as e,):
            above = Reason("axiom", Prop.nonnegative(atom.expr - e), (), (atom, "above argument"))
            return [Reason("axiom", Prop.nonnegative(atom.expr), (), (atom, "above zero")), above]
        case _:
            return []


def size_of(e: Expr) -> int:
    """The factor by which the normalized inequality is smaller than the expression."""
    return max(1, e.content())


def times_nonnegative(known: Knowledge, reason: Reason, factor: Expr) -> Reason | None:
    """`factor * p >= 0` from `p >= 0`, for a factor that is not negative."""
    low = known.low(factor)
    if low is None or low < 0:
        return None
    positive = prove_nonnegative(known, factor)
    scaled = times(positive, reason)
    k = size_of(factor)
    rest = factor.constant - k * positive.conclusion.expr.constant
    if k == 1:
        return scaled
    # `4*x + 3 >= 0` is `x >= 0`: what was divided out and rounded off comes back as multiples
    size = size_of(positive.conclusion.expr * reason.conclusion.expr)
    return combine([scaled, reason], [k * size, rest]) if rest else combine([scaled], [1])


@dataclass(frozen=True, slots=True)
class Smaller:
    """A comparison divided by a factor of known sign: it holds if and only if `goal` does."""

    prop: Prop
    goal: Prop
    factor: Expr
    rest: Expr
    reasons: tuple[Reason, ...]


def without_factors(known: Knowledge, p: Prop) -> Smaller | None:
    """The comparison without the atoms that all its monomials share and that are known positive (ge) or nonzero (eq, ne)."""
    e = p.expr
    if e.constant or not e.terms:
        return None
    whole = len(known.interner.monomials[e.terms[0][0]]) if len(e.terms) == 1 else 0
    if whole == 1:
        return None
    common = common_atoms(known.interner, e)
    chosen: Counter[Atom] = Counter()
    reasons = []
    for atom in sorted(common, key=lambda atom: atom.key):
        count = common[atom]
        if whole and sum(chosen.values()) + count >= whole:
            continue
        low = known.range_of(atom.monomial).lo
        if low is not None and low >= 1:
            reason: Reason | None = prove_bound(known, atom.monomial, True, 1)
        else:
            reason = prove_nonzero(known, Prop.zero(atom.expr).negation) if p.kind != "ge" else None
        if reason is not None:
            chosen[atom] = count
            reasons.append(reason)
    if not chosen:
        return None
    interner = known.interner
    factor = interner.expr(((interner.monomial(tuple(sorted(chosen.elements(), key=lambda a: a.serial))), 1),), 0)
    rest = divide_atoms(interner, e, chosen)
    return Smaller(p, p.of(rest), factor, rest, tuple(reasons))


def factored(smaller: Smaller, goal: Prop, premise: Reason) -> Reason:
    """From the comparison (or its negation) to the divided one (or its negation), or back: goal and premise say which."""
    kind = "ge" if smaller.prop.kind == "ge" else "eq"
    return Reason("factored", goal, (premise, *smaller.reasons), (smaller.factor, smaller.rest, kind))
