"""Calls of Einstein sums."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import SIZE, narrowed, seldom, sizes, slipped
from shapes.testing.calls import Call, Input


@calls_of("einsum")
def einsum(draw: st.DrawFn, name: str) -> Call:
    letters = "ijKz"
    size_of = {letter: draw(SIZE) for letter in letters}
    spared = draw(sizes(0, 2))
    terms: list[str] = []
    operands: list[Input] = []
    for _ in range(draw(st.integers(1, 3))):
        term = draw(st.text(letters, max_size=3))
        own = [1 if seldom(draw) and term.count(letter) == 1 else size_of[letter] for letter in term]
        if draw(st.integers(0, 2)) == 0:
            place = draw(st.integers(0, len(term)))
            own[place:place] = narrowed(draw, spared)
            dots = draw(st.sampled_from([".", "..", "......", "......"])) if draw(st.integers(0, 3)) == 0 else "..."
            term = f"{term[:place]}{dots}{term[place:]}"
        terms.append(term)
        operands.append(Input(slipped(draw, own)))
    equation = draw(st.sampled_from([",", " , "])).join(terms)
    if draw(st.booleans()):
        named = sorted(set("".join(terms)) - {"."})
        output = "".join(draw(st.lists(st.sampled_from(named), unique=True)) if named else [])
        if draw(st.booleans()):
            output = draw(st.sampled_from(["...", "... "])) + output
        if draw(st.integers(0, 3)) == 0:
            output += draw(st.sampled_from(["q", "..", "->", "...", "1", *named, *named, output]))
        equation += "->" + output
    if seldom(draw):
        return Call((equation, operands))
    if seldom(draw):
        operands = operands[1:] or [*operands, *operands]
    return Call((equation, *operands))
