"""A rule on symbolic sizes, its arguments written as words: what comes out and what is required, as text."""

from shapes import ShapeEnv
from shapes.rules import Shape, rules

NAMES = "b s t d e h"
DTYPES = ("bool", "int64")


def told(name, *arguments, seen=None, **options):
    """The output's text and the guards' texts. A string of names and numbers is a shape, and so it is in a list; its
    dtype may stand at the end. A symbol alone is written with a dollar sign. Nothing may be pinned. `seen` gets the
    environment.
    """
    env = ShapeEnv(origin=lambda: None)
    symbols = {name: env.symbol(name) for name in NAMES.split()}

    def read(value):
        if isinstance(value, str) and value.startswith("$"):
            return symbols[value[1:]]
        if isinstance(value, str) and value.endswith(DTYPES):
            words, _, dtype = value.rpartition(" ")
            return Shape(read(words), dtype=dtype)
        if isinstance(value, str) and all(word in symbols or word.isdigit() for word in value.split()):
            return tuple([symbols[word] if word in symbols else int(word) for word in value.split()])
        return type(value)([read(one) for one in value]) if isinstance(value, list | tuple) else value

    output = rules[name](env, *[read(one) for one in arguments], **{key: read(one) for key, one in options.items()})
    assert env.specializations() == ()
    if seen is not None:
        seen(env)
    return str(output), [guard.text for guard in env.guards()]
