"""Rules guessed from operators: they agree with them, and where none is found the error says where."""

import pytest

from shapes import ShapeEnv
from shapes.errors import ShapeError
from shapes.testing import Call, Input, NotInferred, check_rule, infer_rule, shapes
from shapes.testing.formulas import evaluated, fitted

np = pytest.importorskip("numpy")


def windows(x, size, step=1):
    return np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)[..., ::step, :]


def test_a_guessed_rule_is_symbolic_and_agrees():
    """A guessed rule is symbolic and agrees with the operator."""
    rule = infer_rule(windows, 600, x=shapes(rank=(1, 2)))
    assert "        return (x[0], (x[1] - size) // step + 1, size)\n" in rule.__doc__
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s")
    assert str(rule(env, (b, s), 4, 2)) == "Shape(b, s//2 - 1, 4)"
    assert [guard.text for guard in env.guards()] == ["s >= 4"]
    check_rule(rule, windows, x=shapes(rank=(1, 2), size=(0, 12)))


def test_sizes_that_cannot_be_negative():
    """A size that stops at zero is recognized."""
    rule = infer_rule(lambda x, n=1: np.diff(x, n), 300, x=shapes(rank=1), name="diff")
    assert "return (sym_max(x[0] - n, 0),)" in rule.__doc__


def test_products_of_arguments():
    """Products of arguments, as by a dilation, are learnt."""
    torch = pytest.importorskip("torch")

    def conv1d(x, w, stride=1, dilation=1):
        return torch.conv1d(x, w, None, stride, 0, dilation)

    rule = infer_rule(conv1d, 600, x=shapes(rank=3, size=(1, 7)), w=shapes(rank=3, size=(1, 3)))
    assert "(dilation + x[2] - dilation*w[2] - 1) // stride + 1" in rule.__doc__
    assert "env.require(w[1] == x[1]" in rule.__doc__


def test_few_samples_are_made_up_for_by_counterexamples():
    """Counterexamples refute guesses that hold for the samples alone."""
    rule = infer_rule(lambda x: np.zeros((x.shape[0] // 2, 3)), [Call((Input((4,)),)), Call((Input((8,)),))],
                      x=shapes(rank=1))  # fmt: skip
    assert "return (x[0] // 2, 3)" in rule.__doc__
    with pytest.raises(ShapeError):
        rule(ShapeEnv(origin=lambda: None), (4, 4))


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (lambda x: np.zeros(x.size**3 // 7), "no formula for axis 0 of output 0"),
        (lambda x: np.zeros((1,) * (x.size % 3)), "the number of axes differs"),
        (lambda x: np.zeros(0).reshape(4), "refused all"),
        (lambda x: x[: 1 // (x.size not in (1, 4, 6))], "no condition was found that refuses"),
    ],
)
def test_what_cannot_be_learnt_says_where(operator, message):
    """A rule that cannot be learnt is an error that says where."""
    with pytest.raises(NotInferred, match=message):
        infer_rule(operator, 200, x=shapes(rank=1))


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("7", "7"),
        ("a", "a"),
        ("2*a - b + 3", "2*a - b + 3"),
        ("a*b", "a*b"),
        ("a // 2", "a // 2"),
        ("(a + 1) // 2 + 1", None),
        ("(a - b) // c + 1", "(a - b) // c + 1"),
        ("(a + c - 1) // c", None),
        ("max(a - b, 0)", "sym_max(a - b, 0)"),
        ("b if a == 1 else a", "sym_ite(a == 1, b, a)"),
        ("min(a, b)", "sym_min(a, b)"),
        ("a*b - c + 2", None),
    ],
)
def test_formulas(formula, found):
    """Formulas of sizes are recognized, the plainest first."""
    rows = [{"a": a, "b": b, "c": c} for a in (0, 1, 2, 5, 7, 12) for b in (1, 2, 3, 5) for c in (1, 2, 3)]
    values = [eval(formula, {}, row) for row in rows]
    fit = fitted(rows, values)
    assert found is None or fit == found
    assert [evaluated(fit, row) for row in rows] == values


def test_noise_has_no_formula():
    """Noise has no formula."""
    rows = [{"a": a, "b": b} for a in range(6) for b in range(6)]
    assert fitted(rows, [(7 * row["a"] ** 3 + row["b"] ** 2) % 11 for row in rows]) is None
