"""The mutations of `make mutate` still find the text that they break."""

import pytest

from tests.mutate import MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_text_to_break_is_there(mutation: Mutation) -> None:
    """If it fails, a file was changed and a mutation of it has to be pointed at the new text."""
    assert mutation.old in (ROOT / mutation.file).read_text()
    assert mutation.old != mutation.new
