"""`python -m shapes.rules` writes the page of all operators; with names, what is known of these.

    $ python -m shapes.rules nonzero
    nonzero(input, *, as_tuple=False), in shapes/rules/selecting.py
        ...
"""

import inspect
import sys

from shapes.rules import rules
from shapes.rules.reference import arguments_text, page


def entry(name: str) -> str:
    """The arguments, place and description of a rule."""
    rule = rules[name]
    place = rule.function.__module__.replace(".", "/")
    text = inspect.cleandoc(rule.__doc__ or "").replace("\n", "\n    ")
    return f"{name}({arguments_text(rule)}), in {place}.py\n    {text}"


def main() -> int:
    names = sys.argv[1:]
    unknown = [name for name in names if name not in rules]
    if unknown:
        print(f"no rule for {', '.join(unknown)}", file=sys.stderr)
        return 1
    print("\n".join([entry(name) for name in names]) if names else page(), end="\n" if names else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
