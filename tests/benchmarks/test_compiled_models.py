"""The benchmark of compiled models says what it was asked wrongly, and writes what it has measured when time is up."""

import argparse
import json

import pytest

from benchmarks import compiled_models
from benchmarks.compiled_models import Measured, chosen, engines_of, measured, shown

KNOWN = ("gpt2", "t5")


def options(**given: object) -> argparse.Namespace:
    defaults = {"dynamo": True, "static": False, "baselines": "dynamic", "threads": 1, "rounds": 1, "limit": 900.0}
    return argparse.Namespace(**{**defaults, **given})


@pytest.mark.parametrize("names", ["gpt3", "gpt2,gpt3", "GPT2"])
def test_a_model_that_is_none_is_an_error_with_those_that_are(names):
    with pytest.raises(SystemExit, match=r"expected of gpt2, t5"):
        chosen(names, KNOWN)


@pytest.mark.parametrize(("names", "found"), [("", KNOWN), ("t5", ["t5"]), ("t5,gpt2", ["t5", "gpt2"])])
def test_models_are_chosen_by_name(names, found):
    assert chosen(names, KNOWN) == found


def test_a_baseline_that_is_none_is_an_error():
    with pytest.raises(SystemExit, match=r"inductor: expected of dynamic, static, eager"):
        engines_of(options(baselines="inductor"))
    assert engines_of(options(baselines="eager")) == ["symshape", "eager"]
    assert engines_of(options(dynamo=False)) == ["ours", "dynamic", "eager"]


def test_what_was_measured_before_the_limit_is_a_row():
    found = Measured()
    first = json.dumps({"first": {"symshape": 2.0}})
    second = json.dumps({"times": {"symshape": 1.0, "eager": 2.0}, "graphs": {"symshape": 3}})
    found.read(f"warning of a library\n{first}\n{second}\n{second[:20]}")
    assert (found.first, found.times, found.graphs) == (
        {"symshape": 2.0},
        {"symshape": [1.0], "eager": [2.0]},
        {"symshape": 3},
    )


def test_a_row_that_has_no_time_says_so():
    found = measured("gpt2", False, ["symshape", "eager"], options(limit=0.0))
    assert found.problem == "0 s were not enough"
    assert not found.times


def test_rows_that_failed_leave_the_others_in_the_table(monkeypatch):
    rows = {
        "one": Measured({"symshape": 2.0, "dynamic": 8.0}, {"symshape": [1.0], "dynamic": [2.0], "eager": [4.0]}),
        "two": Measured(problem="5 s were not enough"),
    }
    monkeypatch.setattr(compiled_models, "models", lambda: dict.fromkeys(rows))
    monkeypatch.setattr(compiled_models, "measured", lambda name, *_: rows[name])
    text = list(compiled_models.measure(options(models="")))
    assert len(text) == 4
    assert "| one | 2.0 | 8.0 | 0.25 | 0.5 | 0.5 | 0.25 | 0.25 |" in text[0]
    assert "| one | 2.0 |" in text[-1] and "two, training: 5 s were not enough." in text[-1]


def test_a_table_without_inductor_has_no_columns_of_it():
    text = shown([["gpt2", 8.5, 0.68, 0.85, 6]], {"eager": [0.68]}, [], options(baselines="eager"))
    assert text.splitlines()[2] == "| model | first call, s | / eager | worst | graphs |"
