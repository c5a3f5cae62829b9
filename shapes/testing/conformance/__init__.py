"""Conformance suite for symbolic shapes: an environment that answers questions, and rules of operators.

    pytest --pyargs shapes.testing.conformance
    pytest --pyargs shapes.testing.conformance --shape-env=mylib.testing:environment --shape-rules=mylib.shapes:rules

It tests ours by default. The factory of an environment gives a new one at each call, with the methods of
`adapter.Environment`; `answer_of` says what an answer may be:

    >>> from shapes import ShapeEnv
    >>> from shapes.testing.conformance.adapter import answer_of
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=2, hi=9)
    >>> answer_of(env.ask("s >= 1")), answer_of(env.ask("s == 1")), answer_of(env.ask("s == 5"))
    ('always', 'never', 'open')
    >>> answer_of(True), answer_of(None), answer_of("never")
    ('always', 'open', 'never')

Rules are a mapping from the name of an operator of torch to a `Rule`, or to a function of an environment and the
operator's arguments.
"""
