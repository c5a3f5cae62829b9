"""The host program: layouts, memory, sizes, and groups of launches."""
