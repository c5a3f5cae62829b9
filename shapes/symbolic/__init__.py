"""Symbolic integers, booleans and floats: what programs compute with in place of Python's own."""
