"""Tokens of a text, with the position of the parser and the obligations so far.

>>> from solver.terms.interner import Interner
>>> from solver.syntax.tokens import Tokens
>>> Tokens("b*s % 16 == 0", {}, Interner(), "ieee").tokens
['b', '*', 's', '%', '16', '==', '0', '']
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Final, Literal, NoReturn, TypeVar

from solver.errors import NotExpressible, ParseError
from solver.syntax.numerals import Operand
from solver.syntax.shunting_yard import TOKEN
from solver.terms.depth import SHALLOW, room_for
from solver.terms.expr import Expr, TermTable
from solver.terms.prop import Prop

Decimals = Literal["ieee", "real"]
Value = Operand | Prop
Result = TypeVar("Result")

COMPARISONS: Final = frozenset(("==", "!=", ">=", "<=", ">", "<"))
BITWISE: Final = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4}
BITWISE_NAMES: Final = {"|": "bitor", "^": "bitxor", "&": "bitand", "<<": "shl", ">>": "shr"}
WORDS: Final = frozenset(("and", "or", "not", "if", "else", "True", "False"))
NESTING: Final = 100_000
LONGEST_TEXT: Final = 1 << 20
"""Characters of a text."""
LONGEST_INTEGER: Final = 400_000
"""Digits of an integer: all of `2**(2**20)`, the largest power that a text may ask for, and some more."""


class Tokens:
    """One text being read. `at` is the next token; `obligations` say where the part read so far is defined."""

    __slots__ = (
        "at",
        "decimals",
        "defined",
        "interner",
        "monomials",
        "names",
        "obligations",
        "refusal",
        "text",
        "tokens",
    )

    def __init__(self, text: str, names: Mapping[str, Expr], interner: TermTable, decimals: Decimals) -> None:
        if len(text) > LONGEST_TEXT:
            raise ParseError(f"a text of {len(text):,} characters; at most {LONGEST_TEXT:,} are read", text, 0)
        self.text = text
        self.tokens: list[str] = TOKEN.findall(text)
        self.tokens.append("")
        self.at = 0
        self.names = names
        self.interner = interner
        self.decimals = decimals
        self.obligations: list[Prop] = []
        self.defined: dict[str, tuple[Value, Prop]] = {}
        """The names that a text defines, with their values and domains."""
        self.refusal: tuple[str, int] | None = None
        """Python's message about the first constants that it refuses, and the token."""

    def domain(self) -> Prop:
        return Prop.join(self.interner, "and", self.obligations)

    def read(self, rule: Callable[[], Result]) -> Result:
        """Parse the whole text by one rule."""
        depth = self.text.count("(") if len(self.text) > 200 else 0
        depth += self.text.count("not") + self.text.count("if") if depth or len(self.text) > 200 else 0
        depth += self.text.count("-") if len(self.text) > 200 else 0
        if depth > NESTING:
            raise ParseError(f"nested more than {NESTING} levels deep", self.text, 0)
        try:
            if depth > SHALLOW:
                with room_for(depth):
                    self.define()
                    result = rule()
            else:
                self.define()
                result = rule()
        except NotExpressible as error:
            raise ParseError(str(error), self.text, self.column()) from None
        if self.tokens[self.at]:
            self.fail(f"unexpected `{self.tokens[self.at]}`")
        if self.refusal is not None and self.domain().kind == "false":
            message, self.at = self.refusal
            self.fail(message)
        return result

    def define(self) -> None:
        """Parse the definitions behind `where`, each in terms of those before; names of a text hide all others."""
        if "where" not in self.text or "where" not in self.tokens or "where" in self.names:
            return
        tokens, start = self.tokens, self.tokens.index("where")
        self.at = start + 1
        while True:
            name = tokens[self.at]
            if not name.isidentifier() or name in WORDS or tokens[self.at + 1] != "=":
                self.fail("expected `name = value` after `where`")
            if name in self.defined:
                self.fail(f"`{name}` is defined twice")
            self.at += 2
            value = self.ternary()
            needed = self.domain()
            self.obligations = []
            self.defined[name] = (value, needed)
            if name in self.names:
                self.names = {known: e for known, e in self.names.items() if known != name}
            if tokens[self.at] != ",":
                break
            self.at += 1
        if tokens[self.at]:
            self.fail(f"unexpected `{tokens[self.at]}`")
        self.at, self.tokens = 0, [*tokens[:start], ""]

    @abstractmethod
    def ternary(self) -> Value:
        """Parse any value: `a if p else b` and everything that binds tighter."""

    # ------------------------------------------------------------------ errors

    def column(self) -> int:
        for index, match in enumerate(TOKEN.finditer(self.text)):
            if index == self.at:
                return match.start()
        return len(self.text)

    def fail(self, message: str) -> NoReturn:
        raise ParseError(message, self.text, self.column())

    def refuse(self, message: str) -> None:
        """Add an obligation that never holds: an error of the text, unless Python never evaluates this part."""
        self.obligations.append(Prop.truth(self.interner, False))
        if self.refusal is None:
            self.refusal = message, self.at

    def expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            found = self.tokens[self.at]
            self.fail(f"expected `{token}`" + (f", found `{found}`" if found else " before the end"))
        self.at += 1

    def number(self, value: Value) -> Operand:
        if isinstance(value, Prop):
            self.fail("a proposition has no arithmetic; use `1 if ... else 0`")
        return value

    def oblige_under(self, p: Prop, obligations: list[Prop]) -> None:
        """Add the obligations of a part that is evaluated only where `p` holds."""
        if obligations:
            needed = Prop.join(self.interner, "and", obligations)
            self.obligations.append(Prop.join(self.interner, "or", [p.negation, needed]))


def long_integer(digits: str) -> int:
    """An integer of any length: Python refuses texts above some thousands of digits unless told otherwise.

    Raises:
        NotExpressible: it is longer than anything that a text could compute.
    """
    if len(digits) < 4000:
        return int(digits)
    if len(digits) > LONGEST_INTEGER:
        raise NotExpressible(f"an integer of {len(digits):,} digits; at most {LONGEST_INTEGER:,} are read")
    middle = len(digits) // 2
    return long_integer(digits[:-middle]) * int(10**middle) + long_integer(digits[-middle:])
