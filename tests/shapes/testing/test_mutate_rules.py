"""The mechanical mutations of rules: there are enough, they compile, and the comparison notices them."""

import pytest

pytest.importorskip("torch")

from shapes.rules import rules
from tests.mutate_rules import Library, Operators, judged, justified
from tests.rule_mutations import FOLDER, NOT_RULES, chosen, mutants


@pytest.fixture(scope="module")
def every():
    files = [file for file in sorted(FOLDER.glob("*.py")) if file.stem not in NOT_RULES]
    return [mutant for file in files for mutant in mutants(file)]


def test_there_are_mutations_of_every_kind(every):
    """Every kind of mutation is tried."""
    kinds = {mutant.kind for mutant in every}
    assert len(every) >= 200
    assert kinds >= {"off by one", "another axis", "rounded up", "factor forgotten", "term forgotten", "sign",
                     "dropped requirement", "dropped refusal", "comparison moved", "sym_max for sym_min"}  # fmt: skip
    for mutant in chosen(every, 100):
        assert mutant.old != mutant.new
        compile(mutant.tree, str(mutant.file), "exec")


def test_justified_mutations_exist_and_have_reasons(every):
    """The justified mutations exist, and have reasons."""
    keys = {mutant.key for mutant in every}
    for key, reason in justified().items():
        assert key in keys
        assert len(reason) > 10


def test_mutations_of_a_family_are_noticed_and_taken_back(every):
    """Mutations of a diagonal or a Kronecker product are noticed, and undone."""
    len(rules)
    library, operators = Library(), Operators(100, ["diagonals"])
    mine = chosen([mutant for mutant in every if mutant.file.stem == "diagonals"], 12)
    before = {function: function.__code__ for each in library.functions.values() for function in each}
    assert all(library.replaced(mutant) for mutant in mine)
    results = [judged(mutant, library.replaced(mutant), operators, library.forget, shrink=False) for mutant in mine]
    assert sum(result.examples is not None for result in results) >= 0.7 * len(results)
    assert all(function.__code__ is code for function, code in before.items())
