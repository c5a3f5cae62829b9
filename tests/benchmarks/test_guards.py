"""The benchmark of guards compares checks that say the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import guards, handwritten_guards
from tests.effort import examples

SIZE = st.one_of(
    st.sampled_from([0, 1, 2, 3, 4, 16, 32, 64, 128, 192, 256, 8192, 2**20, 2**31, 2**70, -16]), st.integers()
)
ENV = guards.environment()
CHECK, NESTED = ENV.compile_guards(guards.POSITIONS), ENV.compile_guards(guards.PATHS)


@settings(max_examples=examples(200), deadline=None)
@given(st.tuples(SIZE, SIZE, SIZE, SIZE, SIZE, SIZE), st.booleans(), st.booleans())
def test_the_text_by_hand_is_the_generated_check(sizes: tuple[int, ...], same_batch: bool, same_width: bool) -> None:
    """A failure: the figures compare a check with another that tests less."""
    check, nested = CHECK, NESTED
    b, s, d, t, h, k = sizes
    for width in (d, h * k):
        given_sizes = (b, s, width, b if same_batch else b + 1, t, width, width if same_width else width - 1, h, k)
        x, y, w = guards.tensors(given_sizes)
        truth = check(*given_sizes)
        assert handwritten_guards.check(*given_sizes) is truth
        assert nested(x, y, w) is truth and handwritten_guards.check_tensors(x, y, w) is truth


def test_each_guard_has_a_call_that_only_it_rejects() -> None:
    """A failure: a rejected call is rejected by a test that comes early anyhow."""
    check = CHECK
    assert check(*guards.ACCEPTED)
    failed = [str(check.explain(*sizes)) for sizes in guards.REJECTED]
    assert len(set(failed)) == len(failed) == 10 and not any(check(*sizes) for sizes in guards.REJECTED)
    by_guard = [check.explain(*sizes).requirement for sizes in guards.REJECTED]
    assert {requirement.text for requirement in by_guard if requirement is not None} >= {
        "h*k == d",
        "d % 32 == 0",
        "t <= 8192",
    }


def test_the_tables_can_be_made() -> None:
    """A failure: the benchmark no longer runs."""
    assert "generated Python" in guards.calls_table(1)
    assert "generated tree" in guards.dispatches_table(1)
