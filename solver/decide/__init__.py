"""The prover: which decision procedure is asked when, the four verdicts, consistency, minimal cores, simplification."""
