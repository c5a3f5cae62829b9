"""Variants of captured graphs: dispatch among them, marks, relations, limits and reports."""
