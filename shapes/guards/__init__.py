"""Guards: a minimal set, its order, its code in Python and C, and dispatch among guarded variants."""
