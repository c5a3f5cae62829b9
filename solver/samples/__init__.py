"""Assignments that satisfy the facts, in columns, and the searches for one that makes a proposition false."""
