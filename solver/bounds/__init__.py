"""Interval arithmetic over monomials and forms, with proofs of the bounds that are used, and the lemmas that use it."""
