"""What is known: bounds, substitutions and lemmas, propagated as facts are learned; `Facts` is its value."""
