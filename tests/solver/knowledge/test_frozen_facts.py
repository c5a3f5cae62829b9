"""Facts are a value: nothing assigns to them, and what questions compute from them changes none of it."""

import pytest

from solver.decide.ladder import decide
from solver.knowledge.facts import Facts
from solver.terms.interner import Interner

ATTRIBUTES = (
    *("interner", "ranges", "forms", "excluded", "solved", "uses", "products", "caches"),
    *("count", "eliminated", "last", "memos", "samples", "steps", "subsets", "supposing", "symbols"),
)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_no_attribute_is_assigned(name: str) -> None:
    """If this fails, a caller can change what an environment knows behind its back."""
    terms = Interner()
    known = Facts.empty(terms).declare_range(terms.symbol("s"), 2, None)
    before = getattr(known, name)
    with pytest.raises(AttributeError):
        setattr(known, name, before)
    assert getattr(known, name) is before


def test_a_value_has_these_attributes_alone() -> None:
    """If this fails, an attribute was added that the test above does not try."""
    slots = {slot for each in Facts.__mro__ for slot in getattr(each, "__slots__", ())}
    assert slots <= set(ATTRIBUTES)
    with pytest.raises(AttributeError):
        Facts.empty(Interner()).anything = 1  # type: ignore[attr-defined]


def test_an_answer_is_the_same_with_and_without_memos() -> None:
    """If this fails, a verdict depends on the questions before it."""
    terms = Interner()
    b, s = terms.symbol("b"), terms.symbol("s")
    known = Facts.empty(terms).declare_range(b, 0, None).declare_range(s, 0, None)
    question = terms.ge(b * b * s, b * s)
    first = decide(known, question, effort="default")
    again = decide(known, question, effort="default")
    known.forget_questions()
    assert not known.memos.unknown and not known.memos.slices and not known.memos.choices
    anew = decide(known, question, effort="default")
    assert type(first) is type(again) is type(anew) and first.rung == again.rung == anew.rung
