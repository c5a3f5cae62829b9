"""Facts as a persistent value, with what follows from them at once.

`base` has bounds of monomials and forms, and substitutions; `by_intervals` is interval arithmetic over these, with
proofs; `shift`, `remainder`, `extremes`, `multiples` and `single` are lemmas that rest on it. `propagation` learns from
a new fact, `samples` are assignments that satisfy all.
"""
