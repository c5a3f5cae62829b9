"""Questions that a backend asks about sizes, what a guard would save, and what it costs."""
