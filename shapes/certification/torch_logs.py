"""Guards from what torch prints: `TORCH_LOGS=guards,recompiles,dynamic`, `TORCH_TRACE` files, and tlparse's folders.

    >>> log = '''V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] TREE_GUARD_MANAGER:
    ... V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] +- RootGuardManager
    ... V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] +- LAMBDA_GUARD: 5 <= L['x'].size()[0]
    ... V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] '''
    >>> (variant,) = read_log(log.splitlines())
    >>> [each.text for each in variant.conditions], variant.group
    (["L['x'].size()[0] >= 5"], ('133', '0'))

Each compilation is a variant: those of one frame stand in for each other. Guards about sizes are judged; guards about
objects and global state are assumed, counted by their kind. What is not recognized, a list of guards that breaks off,
a log that has no list, and guards on lines of their own between torch's, are conditions that are never shown: nothing
is proven by a log that was not understood.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from shapes.certification.certificates import Condition, Conditions
from shapes.certification.line_comments import place_in
from shapes.certification.printed_guards import place_in_comment, stated
from shapes.size_names import canonical

PREFIX: Final = re.compile(
    r"(?:\[rank\d+\]:\s?)?[VIWEC]\d{4} [\d:.]+ (?P<process>\d+) (?P<file>[^\]]+?):\d+\] ?"
    r"(?:\[(?P<compilation>!?\d+/\d+(?:_\d+)?)\] ?)?(?:\[__(?P<artifact>\w+)\] ?)?(?P<message>.*)$"
)
"""The beginning of a line that torch logs, and its message."""
STRUCTURED: Final = re.compile(
    r"(?:\[rank\d+\]:\s?)?[VIWEC]\d{4} [\d:.]+ (?P<process>\d+) [^\]]+\] (?P<record>\{.*\})$"
)
"""A line of a `TORCH_TRACE` file; its payload follows, each line after a tab."""
TREE: Final = "TREE_GUARD_MANAGER:"
ENTRY: Final = re.compile(r"(?:\| )*\+- (?P<kind>\w+)(?:: (?P<text>.*)| pair at index=\d+)?$")
MANAGERS: Final = re.compile(r"\w*(?:GuardManager|Accessor|RootGuardManager)\w*$|(?:Key|Value)Manager$")
COMMENT: Final = re.compile(r"\s+# ")
# fmt: off
STATE: Final = frozenset(
    {
        "AUTOGRAD_SAVED_TENSORS_HOOKS", "BOOL_MATCH", "BUILTIN_MATCH", "CLASS_MATCH", "CLOSURE_MATCH",
        "CONSTANT_MATCH", "DATA_PTR_MATCH", "DEFAULT_DEVICE", "DETERMINISTIC_ALGORITHMS", "DICT_CONST_KEYS",
        "DICT_CONTAINS", "DICT_KEYS", "DICT_KEYS_MATCH", "DICT_LENGTH", "DICT_NOT_CONTAINS", "DICT_VERSION",
        "DIMENSION_DYNAMIC_MARKING_GUARD", "DISPATCH_KEY_SET_MATCH", "DUAL_LEVEL", "DUAL_LEVEL_MATCH",
        "DUPLICATE_INPUT", "DYNAMIC_INDICES", "EMPTY_NN_MODULE_HOOKS_DICT", "FALSE_MATCH", "FAKE_TENSOR_MODE",
        "FLOAT_IS_NAN", "COMPLEX_IS_NAN", "FSDP_TRAINING_STATE", "FUNCTION_MATCH", "FUNCTORCH_STACK_MATCH",
        "GLOBAL_STATE", "GRAD_MODE", "HASATTR", "ID_MATCH", "INSTANCE_CHECK", "LENGTH_CHECK", "LIST_LENGTH",
        "MAPPING_KEYS_CHECK", "MODULE_MATCH", "NAME_MATCH", "NESTED_MODULES", "NN_MODULE", "NO_HASATTR",
        "NO_TENSOR_ALIASING", "NONE_MATCH", "NOT_NONE", "NOT_NONE_MATCH", "NOT_PRESENT_IN_GENERIC_DICT",
        "OBJECT_ALIASING", "OPAQUE_OBJ_GUARD_FN_MATCH", "ORDERED_DICT_MATCH", "RANGE_ITERATOR_MATCH",
        "REQUIRES_GRAD_MATCH", "SEQUENCE_LENGTH", "SET_CONTAINS", "SET_NOT_CONTAINS", "SHAPE_ENV",
        "STORAGE_OVERLAPPING", "TENSOR_SUBCLASS_METADATA_MATCH", "TORCH_FUNCTION_MODE_STACK",
        "TORCH_FUNCTION_STATE", "TRUE_MATCH", "TUPLE_ITERATOR_LEN", "TYPE_MATCH", "WEAKREF_ALIVE",
    }
)
# fmt: on
"""Kinds of guards about objects and global state."""
ABOUT_SIZES: Final = re.compile(r"\.(?:size|stride|shape|storage_offset)\b")
ABOUT_NUMBERS: Final = re.compile(rf"{ABOUT_SIZES.pattern}|[<>]|[=!]= ?-?\d")
"""A guard that may be about a size or an integer, whatever else it is about."""
SAID_OF_STATE: Final = re.compile(r"^(?:not )?(?:___\w+|hasattr|torch\.|utils_device\.|G\[)|\bis (?:not )?None\b")
TENSOR: Final = re.compile(r"check_tensor\((?P<source>.*?), (?P<class>\w+), DispatchKeySet\(")
SIZES: Final = re.compile(r"\bsize=\[(?P<sizes>[^\]]*)\], stride=\[(?P<strides>[^\]]*)\]")
TYPED: Final = re.compile(r"___check_type_id\((?P<source>.+), \d+\), type=(?P<class><class '[^']+'>)")
EQUALS: Final = re.compile(r"(?P<source>.+?) == (?P<value>.+)$")
ARGUMENT: Final = re.compile(r"""L\[(['"])(?!self\1)\w+\1\]""")
DECLARED: Final = re.compile(r"create_symbol (?P<symbol>[a-z]\d+) = -?\d+ for (?P<source>[^ ]+) ")
ADDED: Final = re.compile(r"eval (?P<text>.+?) \[guard (?:added|suppressed)[^\]]*\]\s*(?P<why>.*)$")
FAILED: Final = re.compile(r"\s+- (?P<compilation>\d+/\d+): (?P<text>.*)$")
NOT_LISTED: Final = "the log has no list of the guards of this compilation: TORCH_LOGS=guards prints it"
PLAIN: Final = "a guard between torch's lines is not read: certify it in a separate file"
TORCHS_NAME: Final = re.compile(r"""\b[LG]\[['"]|\.(?:size|stride)\(\)\[|\.shape\[""")
COMPARISON: Final = re.compile(r"[<>]|[=!]=|%")
RESEMBLING: Final = re.compile(r"(?!(?:if|elif|while|assert|return|for|raise)\b)[\w\s\[\]()'\".,*+/%<>=!-]+")
"""Text of an expression, faulty or not: no statement, and no message."""
BREAKS_OFF: Final = "the list of guards breaks off"


@dataclass(slots=True)
class _Compilation:
    """The lines of a log about one compilation, as they were read."""

    conditions: list[Condition] = field(default_factory=list)
    added: list[Condition] = field(default_factory=list)
    """Guards of the log `dynamic`, which are no list: constants are not among them."""
    names: dict[str, str] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)
    state: list[tuple[str, str]] = field(default_factory=list)
    """The guards about objects and global state: the kind and the text of each."""
    listed: bool = False
    open: bool = False
    """True while lines of a list of guards are read."""


def is_log(lines: Iterable[str]) -> bool:
    """Return True if some line begins as torch's logs do, or a list of guards begins there."""
    return any(PREFIX.match(line) or STRUCTURED.match(line) or line.strip() == TREE for line in lines)


def read_log(lines: Sequence[str]) -> list[Conditions]:
    """The guards of each compilation in a log."""
    found: dict[tuple[str, str], _Compilation] = {}
    for number, process, compilation, message in _messages(lines):
        here = found.setdefault((process, compilation), _Compilation())
        _read(here, message, number, found, process)
    plain = list(_plain_guards(lines))
    rest = [Conditions(plain)] if plain else []
    return rest + [
        _conditions(process, compilation, here)
        for (process, compilation), here in found.items()
        if here.listed or here.conditions or here.added
    ]


def _plain_guards(lines: Sequence[str]) -> Iterator[Condition]:
    """The lines without torch's prefix that read as guards; others are output of the program."""
    payload = False
    for number, line in enumerate(lines, 1):
        if PREFIX.match(line) or STRUCTURED.match(line):
            payload = STRUCTURED.match(line) is not None
        elif line.strip() != TREE and not ENTRY.match(line) and not (payload and line.startswith("\t")):
            written = f" {line}".split(" #", 1)[0].strip()
            if _reads_as_guard(written):
                yield Condition(written, line=number, fault=PLAIN)


def _reads_as_guard(text: str) -> bool:
    """Return True for a comparison of names, and for what resembles one and names sizes as torch does."""
    if TORCHS_NAME.search(text) and COMPARISON.search(text) and RESEMBLING.fullmatch(text):
        return True
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    nodes = list(ast.walk(tree))
    compared = isinstance(tree, ast.BoolOp | ast.UnaryOp | ast.Compare)
    return compared and all(any(isinstance(node, kind) for node in nodes) for kind in (ast.Compare, ast.Name))


def _messages(lines: Sequence[str]) -> Iterator[tuple[int, str, str, str]]:
    """The messages of a log, each with its line, its process and its compilation."""
    payload: tuple[str, str] | None = None
    for number, line in enumerate(lines, 1):
        structured = STRUCTURED.match(line)
        if structured is not None:
            if payload is not None:
                yield number, *payload, ""
            payload = _payload_of(structured["record"], structured["process"])
            continue
        if payload is not None and line.startswith("\t"):
            yield number, *payload, line[1:]
            continue
        if payload is not None:
            yield number, *payload, ""
            payload = None
        found = PREFIX.match(line)
        if found is not None:
            yield number, found["process"], found["compilation"] or "", found["message"]
        elif line.strip() == TREE or ENTRY.match(line):
            yield number, "", "0/0", line
        elif not line.strip():
            yield number, "", "0/0", ""
    if payload is not None:
        yield len(lines), *payload, ""


def _payload_of(record: str, process: str) -> tuple[str, str] | None:
    """The process and compilation of a structured record, if its payload is a list of guards."""
    if '"dynamo_cpp_guards_str"' not in record:
        return None
    frame, number = (re.search(rf'"{key}": (\d+)', record) for key in ("frame_id", "frame_compile_id"))
    return process, f"{frame[1] if frame else 0}/{number[1] if number else 0}"


def _read(
    here: _Compilation,
    message: str,
    number: int,
    found: dict[tuple[str, str], _Compilation],
    process: str,
) -> None:
    text = message.strip()
    if text == TREE:
        if here.open:
            here.conditions.append(_fault(BREAKS_OFF, number))
        # of an analysis that was begun again the last list is the one in force
        here.conditions, here.state, here.listed, here.open = [], [], True, True
        return
    if here.open:
        entry = ENTRY.match(text)
        if entry is not None:
            _read_entry(here, entry["kind"], entry["text"] or "", number)
        elif not text:
            here.open = False
        else:
            here.conditions.append(_fault(f"not understood: {text[:80]}", number))
        return
    declared = DECLARED.match(text)
    if declared is not None:
        here.names[declared["symbol"]] = declared["source"]
        return
    added = ADDED.match(text)
    if added is not None:
        here.added.append(Condition(_python(added["text"]), place_in(added["why"]), line=number))
        return
    failed = FAILED.match(message)
    if failed is not None:
        written = COMMENT.split(failed["text"], maxsplit=1)
        if ABOUT_SIZES.search(written[0]) or re.match(r"tensor '.*' size mismatch", written[0]) is None:
            there = found.setdefault((process, failed["compilation"]), _Compilation())
            comment = written[1] if len(written) > 1 else ""
            there.added.append(Condition(written[0].strip(), place_in(comment), line=number))


def _read_entry(here: _Compilation, kind: str, text: str, number: int) -> None:
    """One guard of a list."""
    if MANAGERS.match(kind):
        return
    written, *comment = COMMENT.split(text, maxsplit=1)
    written = written.strip()
    match kind:
        case "LAMBDA_GUARD" | "SYMBOLIC_SHAPE_GUARD" | "SHAPE_ENV":
            if not written:
                here.conditions.append(_fault(f"{kind} without text", number))
            elif SAID_OF_STATE.search(written) and not ABOUT_NUMBERS.search(written):
                here.state.append((kind, written))
            else:
                found = stated(written, "".join(comment), place_in_comment)
                here.conditions += [replace(each, line=number) for each in found]
        case "TENSOR_MATCH":
            _read_tensor(here, written, number)
        case "EQUALS_MATCH":
            _read_constant(here, written, number)
        case "TYPE_MATCH":
            typed = TYPED.match(written)
            here.state.append((kind, written if typed is None else f"{typed['source']} is {typed['class']}"))
        case _ if kind in STATE:
            here.state.append((kind, written))
        case _:
            here.conditions.append(_fault(f"a guard of an unknown kind, {kind}: {written[:80]}", number))


def _read_tensor(here: _Compilation, text: str, number: int) -> None:
    """A guard on a tensor's class, dtype, device and its constant sizes: the sizes are judged."""
    tensor, sizes = TENSOR.match(text), SIZES.search(text)
    if tensor is None or sizes is None:
        here.conditions.append(_fault(f"not understood: TENSOR_MATCH {text[:80]}", number))
        return
    here.state.append(("TENSOR_MATCH", SIZES.sub("", text)))
    source = tensor["source"]
    if ARGUMENT.match(source) is None or re.search(r"\._(?:parameters|buffers)\b", source):
        return  # a weight: part of the program
    for axis, size in enumerate(each.strip() for each in sizes["sizes"].split(",")):
        if size.lstrip("-").isdecimal():
            here.conditions.append(Condition(f"{source}.size()[{axis}] == {size}", line=number, static=True))


def _read_constant(here: _Compilation, text: str, number: int) -> None:
    """A guard on an object that is equal to a constant: an integer argument is judged."""
    equals = EQUALS.match(text)
    try:
        value = None if equals is None else ast.literal_eval(equals["value"])
    except (ValueError, SyntaxError):
        value = None
    if equals is None or type(value) is not int or ARGUMENT.fullmatch(equals["source"]) is None:
        here.state.append(("EQUALS_MATCH", text))
        return
    here.state.append(("TYPE_MATCH", f"{equals['source']} is <class 'int'>"))
    here.integers.add(equals["source"][3:-2])
    here.conditions.append(Condition(f"{equals['source']} == {value}", line=number, static=True))


def _conditions(process: str, compilation: str, here: _Compilation) -> Conditions:
    frame = compilation.partition("/")[0].lstrip("!")
    conditions = list(here.conditions)
    if here.open:
        conditions.append(_fault(BREAKS_OFF))
    if not here.listed:
        conditions += [*here.added, _fault(f"{compilation or 'a compilation'}: {NOT_LISTED}")]
    names = {symbol: canonical(source) for symbol, source in here.names.items()}
    counted = Counter(kind for kind, _ in here.state)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
    assumed = [f"{len(here.state)} guards about objects and global state ({kinds})"] if here.state else []
    return Conditions(
        conditions,
        names=names,
        integers=frozenset(here.integers),
        assumed=assumed,
        group=(process, frame),
        state=frozenset(text for _, text in here.state),
    )


def _fault(message: str, number: int | None = None) -> Condition:
    return Condition("the guards of the log", line=number, fault=message)


SYMPY: Final[Mapping[str, str]] = {
    "Eq": "==",
    "Ne": "!=",
    "Le": "<=",
    "Lt": "<",
    "Ge": ">=",
    "Gt": ">",
    "Mod": "%",
    "PythonMod": "%",
    "FloorDiv": "//",
    "Pow": "**",
}
"""Functions of two arguments that the log `dynamic` prints, as operators."""


def _python(text: str) -> str:
    """A proposition of sympy's printer as Python's.

    >>> _python("Eq(Mod(s0*s1, 4), 0)"), _python("Max(1, s0) > 4")
    ('((((s0*s1) % (4))) == (0))', 'max(1, s0) > 4')
    """
    pattern = re.compile(rf"\b({'|'.join(SYMPY)})\(")
    while (found := pattern.search(text)) is not None:
        depth, comma, at = 1, None, found.end()
        while at < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            comma = at if text[at] == "," and depth == 1 and comma is None else comma
            at += 1
        if depth or comma is None:
            return text
        left, right = text[found.end() : comma].strip(), text[comma + 1 : at - 1].strip()
        text = f"{text[: found.start()]}(({left}) {SYMPY[found[1]]} ({right})){text[at:]}"
    return text.replace("Max(", "max(").replace("Min(", "min(")


__all__ = ["is_log", "read_log"]
