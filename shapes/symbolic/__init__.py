"""Symbolic numbers: `SymInt`, `SymBool`, `SymFloat`, and the operations that keep them symbolic."""
