"""A size of a tensor has one name in every text for people: the program's (`shapes.size_names`)."""

import pickle
import re

import pytest

from shapes import Depends, ShapeEnv, UndecidedGuard
from solver.decide.pages import facts_page, verdict_page
from solver.decide.verdict import Always
from solver.styled_text import text_of_page

SYMBOL = re.compile(r"\w_size\d")


def environment() -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None)
    env.symbol("x_size0", lo=1, hint=8, source="x.shape[0]")
    env.symbol("x_size1", lo=1, hint=6, source="x.shape[1]")
    env.symbol("n", lo=1, hint=3)
    env.assume("x.shape[0] % 4 == 0")
    return env


def test_every_text_has_the_name_of_the_program() -> None:
    """If it fails, one text says `x_size0` where others say `x.shape[0]`."""
    env = environment()
    proven, open_ = env.ask("x.shape[0]*n % 4 == 0"), env.ask("x_size0*x_size1 > n")
    assert isinstance(proven, Always) and isinstance(open_, Depends)
    size = env.size("x_size0*n + x_size1")
    texts = [repr(env), str(size), f"{size}", repr(size > 3), repr(size / 2), str(env.facts())]
    texts += [str(each) for each in env.events]
    texts += [repr(proven), repr(open_), str(open_.true_at), env._repr_html_(), open_._repr_html_()]
    texts += [text_of_page(verdict_page(each)) for each in (proven, open_)] + [text_of_page(facts_page(env.facts()))]
    texts += [str(env.explain(each)) for each in ("x.shape[0] % 4 == 0", "x_size0*x_size1 > n", "7//(x_size1 - n) > 3")]
    assert [text for text in texts if SYMBOL.search(text)] == []
    assert all("x.shape[0]" in text for text in texts[:2])


def test_texts_are_read_back() -> None:
    """If it fails, a text that a person copies means something else, or nothing."""
    env = environment()
    size = env.size("x_size0*n + x_size1//2")
    truth = size % 8 == env.size("n")
    assert env.size(str(size)).expr is size.expr
    assert env.parse(str(truth))[0] is truth.prop


def test_witnesses_are_found_under_both_names() -> None:
    """If it fails, the name that a verdict prints is not the one by which its sizes are read."""
    verdict = environment().ask("x_size0 > n")
    assert isinstance(verdict, Depends)
    for sizes in (verdict.true_at, pickle.loads(pickle.dumps(verdict.true_at))):
        assert sizes["x.shape[0]"] == sizes["x_size0"] and list(sizes) == ["x_size0", "n"]
        assert repr(sizes).startswith("{'x.shape[0]': ")
    with pytest.raises(KeyError):
        verdict.true_at["y.shape[0]"]


def test_a_symbol_with_a_name_of_its_own_keeps_it() -> None:
    """If it fails, a size that its author named is called otherwise."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("batch", lo=1, hint=8, source="x.shape[0]")
    env.symbol("x_size1", lo=1, hint=8)
    assert repr(env) == "<ShapeEnv batch >= 1, x_size1 >= 1>"


def test_errors_have_the_name_of_the_program() -> None:
    """If it fails, an error names a size that is nowhere in the program."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("x_size0", lo=1, source="x.shape[0]")
    with pytest.raises(UndecidedGuard) as caught:
        env.guard("x.shape[0] > 3")
    assert not SYMBOL.search(str(caught.value)) and "x.shape[0] > 3" in str(caught.value)
