"""The mutations of `make mutate` still find the text that they break."""

import pytest

from tests.mutate import NAMED, ROOT, Named


@pytest.mark.parametrize("mutation", NAMED, ids=lambda mutation: mutation.name)
def test_the_text_to_break_is_there(mutation: Named) -> None:
    """The text that a mutation replaces is in its file."""
    assert mutation.old in (ROOT / mutation.file).read_text()
    assert mutation.old != mutation.new
