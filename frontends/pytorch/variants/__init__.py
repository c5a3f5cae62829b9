"""Variants of captured graphs: dispatch among them, marks, limits and reports."""
