"""Measurements against baselines in the same run, as ratios; `python -m benchmarks --write` runs them all.

Each module measures one thing and prints one table; with `--write` it replaces its own section of RESULTS.md.
"""
