"""The parts of `ShapeEnv`: reader, answers, ledger of commitments, symbols, scopes."""
