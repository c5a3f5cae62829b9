"""The reasoning core: integers, propositions, facts, verdicts. No tensors, no frames, no policy; imports nothing of
ours.

>>> from solver.interner import Interner
>>> terms = Interner()
>>> terms.symbol("s") * 0 is terms.zero
True
"""
