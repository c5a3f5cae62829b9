"""Facts, proof steps, and the independent checker, which recomputes every step and imports nothing above it."""
