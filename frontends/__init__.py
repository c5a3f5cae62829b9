"""Edges to frameworks: what they say about sizes, in this engine's terms, and back. One module or folder each."""
