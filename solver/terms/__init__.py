"""The terms of questions: atoms, expressions and propositions in normal form, hash-consed by an interner."""
