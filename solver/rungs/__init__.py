"""Decision procedures, cheapest first: the rungs of a ladder. Each proves propositions from the facts.

A rung is a module with one function, `prove(prover, facts, goal, depth) -> ProofStep | None`. It may use the facts, the
budget of the `Prover`, and through `prover.prove` the whole ladder on a smaller goal. It returns a proof of exactly the
goal, or None; it never guesses. `solver.decide.rungs` is the table of them, and `RUNGS` of
`solver.rungs.prover` names those that a question may try.
"""
