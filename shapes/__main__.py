"""`python -m shapes` is the `shapes` command.

    $ python -m shapes ask --given "s % 16 == 0" "s % 8 == 0"
    always    because  s % 16 == 0 [1]
"""

import sys

from shapes.prompt.cli import main

if __name__ == "__main__":
    sys.exit(main())
