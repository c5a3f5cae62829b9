"""The prover: questions, verdicts, the order of the decision procedures, minimal unsat cores, consistency,
simplification.
"""
