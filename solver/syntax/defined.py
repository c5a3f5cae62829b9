"""Text that is defined where a value is: a value and its domain travel as a pair, and are written as a pair.

    >>> from solver.syntax.defined import defined_text, fact_text
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> n, d = terms.symbol("n"), terms.symbol("d")
    >>> defined_text(n // d, terms.ne(d, 0))
    'n//d'
    >>> defined_text(n // d, terms.true)
    'n//d if d != 0 else 0'
    >>> defined_text(n, terms.ne(d, 0))
    'n if d != 0 else 1//0'
    >>> fact_text(terms.le(d * (n // d), 6), terms.true)
    'd*(n//d if d != 0 else 0) <= 6'

Inside, every operation is total: `n // 0` is 0. Python's is partial, so the plain text of a term has a domain of its
own. Where that is not the domain of the value, each partial operation is written under its condition.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, TypeGuard

from solver.errors import NotExpressible, ParseError
from solver.floats.order import ORDINAL_OF_PATTERN, finite
from solver.floats.programs import ROUNDINGS, read_function
from solver.floats.substitution import as_float
from solver.syntax.connectives import at_equality
from solver.syntax.parser import parse, parse_expr
from solver.syntax.precedence import AND, COMPARISON, OR, WHOLE, Comparison, Text
from solver.syntax.printer import Printer, text_of, text_of_both
from solver.terms.atoms import domain_of
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

LONGEST: Final = 20_000
"""Characters of a text with a condition for each partial operation."""


def is_partial(value: Expr | Prop) -> bool:
    """Return True if the plain text of the value contains an operation that Python may refuse."""
    for atom in value.schedule:
        if atom.kind == "floordiv":
            divisor = atom.args[1]
            if not isinstance(divisor, Expr) or divisor.terms or not divisor.constant:
                return True
        elif atom.kind == "function" and "(" in atom.name or atom.operation.nonnegative:
            return True
    return False


def domain_of_atom(atom: Atom) -> Prop:
    """The condition under which Python evaluates an operation without error, given that its arguments have values."""
    arguments = [arg for arg in atom.args if isinstance(arg, Expr)]
    if atom.kind != "function" or "(" not in atom.name:
        return domain_of(atom.expr.interner, atom.operation, arguments)
    name, nodes, _ = read_function(atom.name)
    if name == "computes":
        return Prop.truth(atom.expr.interner, True)
    of = finite if name in ROUNDINGS else _domain
    doubles = [as_float(node, arguments) for node in nodes if node.operation != "integer"]
    return Prop.join(atom.expr.interner, "and", [of(x) for x in doubles])


def _domain(value: object) -> Prop:
    from solver.floats.value import Float

    assert isinstance(value, Float)
    return value.domain


def domain_read(text: str, value: Expr | Prop, *others: Prop) -> Prop | None:
    """The domain of a text over the symbols of the values.

    None if it is not read as one, or names are ambiguous.
    """
    symbols = value.symbols.union(*[other.symbols for other in others])
    names = {symbol.name: symbol.expr for symbol in symbols}
    if len(names) < len(symbols):
        return None
    try:
        if isinstance(value, Expr):
            return parse_expr(text, names, value.interner).domain
        return parse(text, names, value.interner).domain
    except (ParseError, NotExpressible):
        return None


def _reads_alike(text: str, value: Expr | Prop, domain: Prop) -> bool:
    """Return True if the text has this domain, except for the range of the bits of a double, which are declared."""
    read = domain_read(text, value, domain)
    if read is domain:
        return True
    doubles = [atom.args[0] for atom in value.schedule if atom.name == ORDINAL_OF_PATTERN]
    bits = {symbol for arg in doubles if _is_symbol(arg) for symbol in arg.symbols}
    return read is not None and bool(bits) and _without(read, bits) == _without(domain, bits)


def _is_symbol(arg: object) -> TypeGuard[Expr]:
    return isinstance(arg, Expr) and not arg.schedule and len(arg.terms) == 1 and len(arg.symbols) == 1


def _without(domain: Prop, bits: set[Atom]) -> set[Prop]:
    parts = domain.parts if domain.kind == "and" else (domain,)
    return {part for part in parts if part.kind != "true" and not (part.symbols <= bits and not part.schedule)}


def total_text(value: Expr | Prop) -> str:
    """The text of a value that is defined everywhere."""
    return _total(value, text_of(value))


def _total(value: Expr | Prop, plain: str) -> str:
    """`plain` with conditions; by one condition in front where that settles all."""
    if not is_partial(value):
        return plain
    domain = domain_read(plain, value)
    if domain is not None and domain.kind == "true":
        return plain
    if isinstance(value, Expr) and domain is not None and domain.kind == "ne" and "where" not in plain:
        image = at_equality(domain.negation, value)
        if image is not None and not is_partial(image):
            return f"{_operand(plain)} if {domain} else {image}"
    if isinstance(value, Prop) and value.parts and "where" not in plain:
        parts = sorted(value.parts, key=is_partial)  # those that always make sense are evaluated first
        ordered = f" {value.kind} ".join([f"({text_of(part)})" if part.parts else text_of(part) for part in parts])
        read = domain_read(ordered, value)
        if read is not None and read.kind == "true":
            return ordered
    with suppress(NotExpressible):
        return TotalPrinter(value.interner, longest=LONGEST).write(value).text
    return plain


def _operand(text: str) -> str:
    """The text as the first operand of a conditional."""
    return f"({text})" if " if " in text else text


def defined_text(value: Expr | Prop, domain: Prop) -> str:
    """The text of a value, defined exactly inside the domain."""
    plain = text_of(value)
    if domain.kind == "true" and not is_partial(value) or _reads_alike(plain, value, domain):
        return plain
    total = _total(value, plain)
    if domain.kind == "true":
        return total
    undefined = "1//0" if isinstance(value, Expr) else "1//0 == 0"
    condition = total_text(domain)
    for text in (f"{_operand(plain)} if {condition} else {undefined}", f"({total}) if {condition} else {undefined}"):
        if domain_read(text, value, domain) is domain:
            return text
    return text


def readable_text(value: Expr | Prop, domain: Prop) -> str:
    """The text of a value for people: defined at least inside the domain; what else the domain asks is not shown."""
    plain = text_of(value)
    if not is_partial(value) or _reads_alike(plain, value, domain) or domain_read(plain, value, domain) is None:
        return plain
    return _total(value, plain)


def fact_text(prop: Prop, domain: Prop) -> str:
    """The text of a fact, which asserts its domain: true where both hold, and never undefined where they do not."""
    plain = text_of(domain if prop.kind == "true" else prop)
    if domain.kind == "true" and not is_partial(prop) or prop.kind == "true" and not is_partial(domain):
        return plain
    if prop.kind != "true" and _reads_alike(plain, prop, domain):
        return plain
    if prop.kind == "true":
        return _total(domain, plain)
    total = _total(prop, plain)
    if domain.kind == "true":
        return total
    if "where" in total:
        return text_of_both(domain, prop)
    condition = total_text(domain)
    for text in (plain, total):
        both = f"({condition}) and ({text})"
        read = domain_read(both, prop, domain)
        if read is not None and read.kind == "true":
            break
    return both


class TotalPrinter(Printer):
    """Writes each partial operation under its condition, without recovering operations of the source."""

    def expression(self, e: Expr) -> Text:
        found = self._expressions.get(e)
        if found is None:
            plain = self.plain(e)
            found = self.pieces.write(plain)
            if found.wide:
                found = self.pieces.flat(plain)
            self._expressions[e] = self._kept(found)
        return found

    def _written(self, piece: int) -> Text:
        text = super()._written(piece)
        domain = domain_of_atom(self.atoms[piece])
        if domain.kind == "true":
            return text
        self.pieces.exponents.pop(piece, None)
        condition = self.proposition(domain)
        cost = text.cost + condition.cost + 1
        return self._kept(Text(f"({text.text} if {condition.text} else 0)", WHOLE, cost))

    def _simple(self, p: Prop) -> Text:
        if p.kind in ("true", "false"):
            return Text(p.kind.capitalize())
        made = self.comparison(p)
        return Text(made.text, COMPARISON, made.cost)

    def comparison(self, p: Prop) -> Comparison:
        return self.pieces.compare(p.kind, self.plain(p.expr))

    def _joined(self, p: Prop) -> Text:
        level = AND if p.kind == "and" else OR
        parts = [self._propositions[part] if part.parts else self._simple(part) for part in p.parts]
        cost = len(parts) - 1 + sum([part.cost for part in parts])
        return Text(f" {p.kind} ".join([part.within(level + 1) for part in parts]), level, cost)
