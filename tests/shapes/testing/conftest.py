"""Checks of rules are tested as a user runs them, with as many calls, whichever profile the suite runs with.

A test that is about profiles loads its own: `profile` in test_settings.py.
"""

import pytest
from hypothesis import settings


@pytest.fixture(autouse=True)
def profile_of_the_suite():
    """The profile of `make test`, in a quick or a thorough run, too."""
    before = settings.get_current_profile_name()
    settings.load_profile("test")
    yield
    settings.load_profile(before)
