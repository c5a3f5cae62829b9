"""Memoized arithmetic on torch's own symbols: `frontends.pytorch.reasoner()`."""
