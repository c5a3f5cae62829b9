"""Generated Python functions: defined from text that tracebacks show for as long as the function is there.

>>> import linecache
>>> from backends.program.generated_functions import defined
>>> double = defined("def run(x):\\n    return 2 * x\\n", "<twice>", {})
>>> double(4), linecache.getline("<twice>", 2)
(8, '    return 2 * x\\n')
>>> del double
>>> linecache.getline("<twice>", 2)
''
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable
from typing import Any


# what it takes and returns is for the text to say
def defined(text: str, file: str, scope: dict[str, object]) -> Callable[..., Any]:  # type: ignore[explicit-any]
    """The function `run` of a text, with a scope of its own; tracebacks name `file` and show its lines."""
    exec(compile(text, file, "exec"), scope)
    # out of the scope, in which it would hold itself
    function: Any = scope.pop("run")  # type: ignore[explicit-any]
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    weakref.finalize(function, linecache.cache.pop, file, None).atexit = False
    return function  # type: ignore[no-any-return]
