"""Assignments that satisfy the facts: local search, grid search, repair and shrinking of witnesses, random sampling."""
