"""Calls of compiled functions: dispatch among variants, dynamism, recompilation, artifacts and reports."""
