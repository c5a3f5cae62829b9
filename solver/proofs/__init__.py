"""Proof steps, facts, and the checker that computes every step again and imports nothing above it."""
