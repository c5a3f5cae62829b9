"""What is asked about: atoms, expressions and propositions in normal form, hash-consed by an interner."""
