"""Certificates for dropping guards: compared with all sizes of small ranges, by enumeration."""

import dataclasses
import random
from itertools import product

import pytest

from shapes.certification.certificates import Certificate, Condition, Conditions
from shapes.certification.certifying import certify
from shapes.certification.guard_files import read_guards, read_lines
from shapes.errors import ShapeError
from shapes.origin import Origin
from shapes.size_names import canonical, names_in

GUARDS = [
    *("a <= {}", "{} <= a", "a == {}", "a != {}", "a % {} == 0", "a == b", "a <= b", "a * b <= {}", "a + {} == b"),
    *("(a * b) % {} == 0", "a // {} != 1", "a % {} == b % 3", "max(a, b) >= {}", "a == 2 * (a // 2)", "b % a == 0"),
    *("a * a != {} * b", "not (a > {} and b > 3)", "a < {} or b % 2 == 1"),
]


def conditions(*texts: str) -> Conditions:
    return Conditions([Condition(text) for text in texts])


def holds(text: str, sizes: dict[str, int]) -> bool:
    try:
        return bool(eval(text, {"max": max}, sizes))
    except ZeroDivisionError:
        return False


def tried(seed: int) -> tuple[list[str], dict[str, tuple[int, int, int]], list[dict[str, int]]]:
    """Some guards, ranges of two sizes, and all sizes in these that a fact allows."""
    drawn = random.Random(seed)
    guards = [drawn.choice(GUARDS).format(drawn.choice([1, 2, 3, 4, 6, 8, 12])) for _ in range(4)]
    ranges = {}
    for name in "ab":
        lo = drawn.choice([0, 1, 2, 5])
        ranges[name] = (lo, lo + drawn.choice([0, 7, 12]), drawn.choice([1, 1, 2, 4]))
    axes = [[size for size in range(lo, hi + 1) if size % step == 0] for lo, hi, step in ranges.values()]
    return guards, ranges, [dict(zip("ab", sizes)) for sizes in product(*axes)]


@pytest.mark.parametrize("fact", ["", "a <= b", "(a + b) % 3 == 0"])
@pytest.mark.parametrize("seed", range(25))
def test_all_sizes_one_by_one(seed: int, fact: str) -> None:
    """Certified guards hold at all sizes, and each finding fails at its sizes, the smallest ones."""
    guards, ranges, box = tried(seed)
    box = [sizes for sizes in box if not fact or holds(fact, sizes)]
    found = certify([conditions(*guards)], ranges, [fact] if fact else [])
    assert found.check()
    if not box:
        assert found.status == "contradictory" and found.exit_status == 3
        return
    assert found.status != "contradictory"
    assert all(all(holds(each.guard, sizes) for sizes in box) for each in found.holding)
    for each in found.findings:
        failing = [sizes for sizes in box if not holds(each.guard, sizes)]
        least = min(failing, key=lambda sizes: tuple(sizes[name] for name in each.size))
        assert each.size == {name: least[name] for name in each.size} and each.smallest
    assert not found.not_shown
    assert found.status == ("refuted" if found.findings else "proven")
    texts = {each.guard for each in (*found.holding, *found.findings)}
    wrong = [guard for guard in guards if guard not in texts and not all(holds(guard, sizes) for sizes in box)]
    # two guards that say the same are one
    assert all(
        any(all(holds(guard, sizes) == holds(each.guard, sizes) for sizes in box) for each in found.findings)
        for guard in wrong
    )


@pytest.mark.parametrize("seed", range(15))
def test_variants_beside_each_other(seed: int) -> None:
    """Variants are certified exactly where one of them accepts all sizes."""
    first, ranges, box = tried(seed)
    second, _, _ = tried(seed + 1000)
    variants = [conditions(*first[:2]), conditions(*second[:1])]
    found = certify(variants, ranges)
    if found.status == "contradictory":
        assert not box
        return
    covered = all(any(all(holds(each.text, sizes) for each in one.conditions) for one in variants) for sizes in box)
    assert found.check() and found.status == ("proven" if covered else "refuted")
    for each in found.findings:
        sizes = dict(zip("ab", [ranges["a"][0], ranges["b"][0]])) | each.size
        assert not any(all(holds(one.text, sizes) for one in variant.conditions) for variant in variants) or (
            len(each.size) < 2
        )
    alone = certify(variants, ranges, alternatives=False)
    both = all(holds(each.text, sizes) for sizes in box for one in variants for each in one.conditions)
    assert alone.status == ("proven" if both else "refuted")


def test_the_least_of_large_sizes() -> None:
    """Overflows are shown at the smallest sizes that have them."""
    found = certify([conditions("b * s <= 2147483647", "s <= 8192")], {"b": (1, 64), "s": (16, 2**30, 16)})
    assert [each.size for each in found.findings] == [{"b": 2, "s": 2**30}, {"s": 8208}]
    assert all(each.smallest for each in found.findings) and found.check()
    exact = certify([conditions("b * s <= 2147483647")], {"b": (1, 64), "s": (16, 2**31 // 64 - 16, 16)})
    assert exact.proven and exact.check()


def test_what_is_not_understood_does_not_hold() -> None:
    """A guard that is not understood is not certified."""
    found = certify([conditions("a >= 0", "frobnicate(a) == 3", "a >=")], {"a": (1, 2)})
    assert found.status == "unknown" and found.exit_status == 2 and len(found.not_shown) == 2
    assert found.not_shown[0].reason.startswith("not understood: unknown function `frobnicate`")
    faulty = Conditions([Condition("check_tensor(...)", fault="of a kind that is not known")])
    assert certify([faulty], {}).status == "unknown"
    # nor does it make another variant one that accepts
    assert certify([faulty, conditions("a == 1")], {"a": (1, 2)}).status == "refuted"


def test_an_open_question_does_not_hold() -> None:
    found = certify([conditions("a**3 + b**3 + 2*c**3 != 42423 * a * b * c + 1")], {"a": (1, None)}, solvers=False)
    assert found.status in ("unknown", "refuted") and not found.proven and found.check()


def test_no_truth_value() -> None:
    """A certificate has no truth value."""
    with pytest.raises(TypeError, match="not a truth value"):
        bool(certify([conditions("a >= 0")], {}))


def test_constants_that_nothing_is_said_about() -> None:
    """Constants that nothing is said about are not reported, specialized sizes of an input are."""
    variant = Conditions([Condition("x.shape[1] == 8", static=True), Condition("x.stride(0) == x.shape[1]")])
    found = certify([variant], {})
    assert found.proven and found.assumed == ("x.shape[1] == 8", "x.stride(0) == x.shape[1]")
    (finding,) = certify([variant], {"x.shape[1]": (1, 64)}).findings
    assert finding.size == {"x.shape[1]": 1}
    # of two variants that differ in it, it is what they differ in
    other = Conditions([Condition("x.shape[1] == 16", static=True)])
    assert certify([variant, other], {"x.shape[0]": (1, 2)}).status == "refuted"


def test_layouts_are_compared_before_variants_stand_in() -> None:
    """A variant for other strides is not counted on."""
    contiguous = Conditions([Condition("x.shape[0] <= 8"), Condition("x.stride(0) == 4")])
    transposed = Conditions([Condition("x.shape[0] >= 8"), Condition("x.stride(0) == 1")])
    assert certify([contiguous, transposed], {"x.shape[0]": (1, 64)}).status == "refuted"


def test_integers_may_be_negative() -> None:
    variant = Conditions([Condition("n >= 0")], integers=frozenset({"n"}))
    assert certify([variant], {}).status == "refuted"
    assert certify([variant], {"n": (0, None)}).proven


def test_a_changed_certificate_is_refused() -> None:
    """A changed certificate is refused."""
    found = certify([conditions("a <= 8")], {"a": (1, 64)})
    (finding,) = found.findings
    (atom,) = finding.values
    for value in (8, 65):
        wrong = dataclasses.replace(finding, values={atom: value})
        assert not Certificate("refuted", findings=(wrong,)).check()
    proof = certify([conditions("a <= 8")], {"a": (1, 8)}).holding[0]
    other = certify([conditions("a <= 7")], {"a": (1, 7)}).holding[0]
    proof.verdict.prop = other.verdict.prop
    assert not Certificate("proven", holding=(proof,)).check()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"a": (4, 1)}, "no size lies between"),
        ({"a": (1, 2, 3, 4)}, "expected a size, "),
        ({"a": "1..2"}, "expected a size, "),
        ({"a": (1, 8, 0)}, "less than 1"),
        ({3: (1, 8)}, "not the name of a size"),
        ([("a", 1)], "expected a range for each size"),
    ],
)
def test_ranges_that_are_none(sizes: object, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        certify([conditions("a <= 8")], sizes)  # type: ignore[arg-type]


def test_sizes_that_there_are_not() -> None:
    """A range for a size that does not exist is an error."""
    variant = Conditions([Condition("x.shape[0] <= 8")], inputs=frozenset({"x.shape[0]"}))
    with pytest.raises(ShapeError, match=r"'x.shape\[1\]': there is no such size"):
        certify([variant], {"x.shape[1]": (1, 2)})


def test_names_of_sizes() -> None:
    spellings = ["x.shape[0]", "x.size(0)", "x.size()[0]", "L['x'].size()[0]", 'L["x"].shape[0]', "x.0"]
    assert {canonical(text) for text in spellings} == {"x.shape[0]"}
    assert canonical("L['y']['a'].stride()[1]") == "y['a'].stride(1)"
    assert canonical("G['x'].size()[0]") != canonical("L['x'].size()[0]")
    assert names_in("1.5 < min(a, 2) and not L['self'].w[3].size()[0] % 4 == x.1") == [
        *("a", "self.w[3].shape[0]", "x.shape[1]")
    ]


def test_names_that_would_be_words() -> None:
    """Tensors whose names are words, or are spelled alike, can be judged."""
    texts = ["max.shape[0] == lambda.shape[0]", "a.b.shape[0] <= 3", "a_b.shape[0] <= 4", "__a_b_shape_0 <= 5"]
    found = certify([conditions(*texts)], {"a_b.shape[0]": (1, 4)})
    assert not found.not_shown and [each.guard for each in found.holding] == ["a_b.shape[0] <= 4"]
    assert [each.guard for each in found.findings] == [texts[0], texts[1], texts[3]]


def test_files() -> None:
    read = read_lines(["", "# none", "s0 <= 4  # if n <= 4:  # a/model.py:3 in forward (torch/x.py:7 in y)", "s1 == 2"])
    assert [(each.line, each.text, each.origin) for each in read.conditions] == [
        (3, "s0 <= 4", Origin("a/model.py", 3, "forward")),
        (4, "s1 == 2", None),
    ]


def test_a_saved_environment(tmp_path: object) -> None:
    """A saved environment is judged as `env.certify` judges it."""
    from pathlib import Path

    from shapes import ShapeEnv

    env = ShapeEnv()
    b, s = env.symbol("b", lo=1, hint=4), env.symbol("s", hint=128)
    u = env.unbacked("u", lo=0, hi=9)
    env.assume(s % 16 == 0)
    assert env.guard(b * s <= 8192)
    env.expect_true(u <= s)
    path = Path(str(tmp_path)) / "session.jsonl.gz"
    env.save(path)
    guards = read_guards(path)[0]
    found = certify([guards], {"b": (1, 4), "s": (0, 2048, 16)})
    assert found.proven and found.assumed == ("run-time check s >= u",)
    found = certify([guards], {"b": (0, 5), "s": (0, 2048)})
    assert [(each.guard, each.size) for each in found.findings] == [
        *(("b >= 1", {"b": 0}), ("s % 16 == 0", {"s": 1}), ("b*s <= 8192", {"b": 5, "s": 1639})),
    ]
    origin = found.findings[2].origin
    assert origin is not None and origin.name == "test_certificates.py"
