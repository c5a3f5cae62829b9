"""Which Python Dynamo runs as it is: plain code over tensors, numbers and modules, read instruction by instruction.

    >>> import torch
    >>> from frontends.pytorch.dynamo.trusted import reason_against
    >>> def f(x):
    ...     y = torch.relu(x)
    ...     return y * 2 if y.sum() > 0 else y
    >>> reason_against([f.__code__])
    ''
    >>> larger = lambda x: max(x.sum(), x.mean())
    >>> reason_against([larger.__code__])
    'max'
    >>> reason_against([(lambda x: x.shape[0] in (3, 4)).__code__])
    'CONTAINS_OP'

Dynamo runs a program of its own making in the place of the function. Where it was found to do something else than
Python does, code is not left to it: these are the tables below, each with what goes wrong.
"""

from __future__ import annotations

import builtins
import dis
import gc
import inspect
import io
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import torch

from frontends.pytorch.source_location import FRAMEWORKS, is_users

TORCH: Final = FRAMEWORKS[0]
OWN: Final = tuple(
    [
        TORCH + place
        for place in (
            *("nn/", "amp/", "functional.py", "_tensor.py", "_VF.py", "_jit_internal.py", "overrides.py"),
            *("autograd/grad_mode.py", "utils/_contextlib.py", "_dynamo/external_utils.py", "_dynamo/polyfills/"),
        )
    ]
)
"""Torch's own code that Dynamo is made for."""

INSTRUCTIONS: Final = {
    # what outlives the call is put back in another order, or is read before it is; a deque forgets how long it may be
    **dict.fromkeys(("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL"), "what changes outlives the call"),
    **dict.fromkeys(("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"), "what is changed may outlive the call"),
    # `x.shape[0] in (3, 4)` is False for 3, and `tensor in [...]` gives a tensor
    "CONTAINS_OP": "`in` compares otherwise",
    # a failed assertion about data is a RuntimeError of torch's
    "LOAD_ASSERTION_ERROR": "another error is raised",
    # errors of torch's are caught that Dynamo has raised as its own
    **dict.fromkeys(("CHECK_EXC_MATCH", "CHECK_EG_MATCH"), "errors are caught"),
    # made ahead of their time, as tuples
    **dict.fromkeys(("YIELD_VALUE", "SEND", "GET_AWAITABLE", "RETURN_GENERATOR"), "a generator"),
    # names of another time
    **dict.fromkeys(("LOAD_NAME", "LOAD_LOCALS", "LOAD_CLASSDEREF"), "names are looked up"),
    **dict.fromkeys(("IMPORT_NAME", "IMPORT_FROM", "IMPORT_STAR"), "a module is imported"),
    **dict.fromkeys(("LOAD_BUILD_CLASS", "SETUP_ANNOTATIONS"), "a class is made"),
    **dict.fromkeys(("MATCH_CLASS", "MATCH_MAPPING", "MATCH_KEYS"), "patterns"),
}
"""Instructions that are not left to Dynamo, and what goes wrong."""
BUILTINS: Final = frozenset(
    {
        *(len, range, int, float, bool, abs, print, enumerate, zip, list, tuple, isinstance, reversed),
        *(ValueError, TypeError, RuntimeError, NotImplementedError, IndexError, KeyError, AssertionError),
    }
)
"""Python's own functions that are. Others are not: `max` of tensors has a gradient where Python's has none, `max` of a
size and a float gives a float, functions that remember results (`lru_cache`) forget them."""
NOT_OF_TORCH: Final = frozenset(
    (
        # state of torch's and of its generators; what runs programs of its own; what leaves torch
        *("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "Generator", "generator", "random"),
        *("set_grad_enabled", "set_default_dtype", "set_default_device", "set_flush_denormal"),
        *("set_num_threads", "use_deterministic_algorithms", "inference_mode", "enable_grad", "is_grad_enabled"),
        *("utils", "func", "vmap", "cond", "compile", "compiler", "jit", "export", "fx", "optim", "distributions"),
        *("library", "ops", "_C", "_dynamo", "_higher_order_ops", "testing", "profiler", "multiprocessing", "save"),
        *("load", "from_numpy", "numpy", "asarray", "as_tensor", "tensor", "autograd", "overrides", "hub", "utils"),
        *("backends", "cuda", "cpu", "futures", "distributed", "_check", "_assert", "masked", "sparse", "quantization"),
    )
)
NOT_OF_TENSORS: Final = frozenset(
    (
        # NumPy in the place of torch gives arrays for its numbers, and none of its errors
        *("numpy", "__array__", "data", "grad", "grad_fn", "is_leaf", "_version", "_base", "names", "backward"),
        *("register_hook", "register_post_accumulate_grad_hook", "retain_grad", "requires_grad_", "requires_grad"),
        *("set_", "resize_", "resize_as_", "swap_tensors", "apply_", "map_", "map2_", "share_memory_", "storage"),
        *("untyped_storage", "data_ptr", "itemsize", "nbytes", "element_size", "storage_offset", "is_set_to"),
        *("unbind", "chunk", "split", "tensor_split", "hsplit", "vsplit", "dsplit", "unsafe_chunk", "unsafe_split"),
    )
)
"""Views made together raise where one is changed in place, and Dynamo's do not."""
CHANGING: Final = frozenset(
    (
        *("append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "clear"),
        *("update", "setdefault", "discard", "sort", "reverse", "rotate", "move_to_end", "difference_update"),
        *("intersection_update", "symmetric_difference_update", "write", "writelines", "flush", "read", "readline"),
        *("seek", "send", "throw", "close", "next", "register_buffer", "register_parameter", "add_module"),
        *("register_module", "register_forward_hook", "register_forward_pre_hook", "train", "eval", "apply"),
        *("load_state_dict", "zero_grad", "step", "zero_", "share_memory", "setLevel", "addHandler", "addFilter"),
    )
)
"""Methods that change what may outlive the call; on a list that the code has made itself, `append` is trusted."""
ALSO_OF_OTHERS: Final = frozenset(("random", "cpu", "cuda", "tensor", "generator", "seed"))
REFUSED_NAMES: Final = NOT_OF_TENSORS | CHANGING | (NOT_OF_TORCH - ALSO_OF_OTHERS)
MODULES: Final = frozenset(("torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"))
OF_OTHERS: Final = frozenset(
    ("append", "items", "values", "keys", "training", "forward", "parameters", "children", "modules")
)
"""Methods of dictionaries and of modules."""
MOST_ITEMS: Final = 64
CREATED: Final = frozenset(("BUILD_LIST",))


def reason_against(codes: Iterable[CodeType], modules: list[torch.nn.Module] | None = None) -> str:
    """What is in code that Dynamo is not trusted with, and "" if it is with all of it. `modules` are those whose
    attributes it may read; the modules that are found by name are added to them."""
    outside, modules = [], [] if modules is None else modules
    for code in codes:
        if code.co_filename.startswith(OWN):
            continue
        if not is_users(code.co_filename):
            return code.co_qualname
        outside.append(code)
    if not outside:
        return ""
    functions = functions_of(outside)
    for code in outside:
        # a function within another has the globals of that one
        for function in functions.get(code, ()):
            defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
            values = [*contents(code, function.__closure__), *[(code.co_qualname, each) for each in defaults]]
            found = against_values([*named(code, function.__globals__), *values], modules)
            if found:
                return found
    for code in outside:
        found = against_code(code, modules)
        if found:
            return found
    inner = {each for code in outside for each in within(code)}
    return next((code.co_qualname for code in outside if code not in functions and code not in inner), "")


def reason_against_frame(frame: Any, modules: list[torch.nn.Module]) -> str:
    """What is in a function that is called that Dynamo is not trusted with."""
    code = frame.f_code
    if code.co_filename.startswith(OWN) or is_resumed(code):
        return ""
    given = [(name, frame.f_locals.get(name)) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    return (
        against_values([*named(code, frame.f_globals), *contents(code, frame.closure), *given], modules)
        or against_code(code, modules)
    )


def is_resumed(code: CodeType) -> bool:
    """Whether it is what Dynamo has made of the rest of a function, which it was trusted with."""
    return code.co_name.startswith("torch_dynamo_resume_in")


def functions_of(codes: Sequence[CodeType]) -> dict[CodeType, list[FunctionType]]:
    """The functions with these codes."""
    found: dict[CodeType, list[FunctionType]] = {}
    for each in gc.get_referrers(*codes):
        if type(each) is FunctionType and each.__code__ in codes:
            found.setdefault(each.__code__, []).append(each)
    return found


def within(code: CodeType) -> Iterator[CodeType]:
    """The code of functions that are made in code."""
    for each in code.co_consts:
        if type(each) is CodeType:
            yield each
            yield from within(each)


def against_code(code: CodeType, modules: Sequence[torch.nn.Module] = ()) -> str:
    """What in the instructions of code, and of the functions made in it, Dynamo is not trusted with."""
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return code.co_qualname
    instructions = list(dis.get_instructions(code))
    own = own_lists(instructions)
    is_percent = any(isinstance(each, str) and "%" in each for each in code.co_consts)
    caught = 0
    for before, each in zip([None, *instructions], instructions, strict=False):
        caught += (each.opname == "PUSH_EXC_INFO") - (each.opname == "WITH_EXCEPT_START")
        if each.opname in INSTRUCTIONS:
            return each.opname
        if formats(each) or (is_percent and each.opname == "BINARY_OP" and each.argrepr == "%"):
            return "a format"
        if each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in code.co_freevars:
            return each.opname
        if each.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            name = str(each.argval)
            is_own = name == "append" and before is not None and before.opname == "LOAD_FAST" and before.argval in own
            if not is_own and not is_attribute(name, modules):
                return name
    if caught:
        return "an error is caught"
    inner = [against_code(each, modules) for each in code.co_consts if type(each) is CodeType]
    return next(filter(None, inner), "")


def is_attribute(name: str, modules: Iterable[torch.nn.Module]) -> bool:
    """Whether code may read an attribute: a method of tensors, a function of torch, or what modules hold by that name
    if it is plain there."""
    if name in REFUSED_NAMES or name.startswith("__"):
        return False
    held = [value for module in modules for value in held_as(name, module)]
    if held:
        return all(map(is_plain, held))
    return name in OF_OTHERS or any(hasattr(home, name) for home in (torch.Tensor, math, *homes()))


def held_as(name: str, module: torch.nn.Module) -> Iterator[object]:
    """What a module and those in it have by a name, where torch's own class does not give it."""
    for each in module.modules():
        for values in (vars(each), each._parameters, each._buffers, each._modules):
            if name in values:
                yield values[name]
        for kind in type(each).__mro__:
            if name in vars(kind) and not kind.__module__.startswith("torch."):
                value = vars(kind)[name]
                value = value.fget if isinstance(value, property) else value
                yield getattr(value, "__func__", value)


def homes() -> list[ModuleType]:
    """The modules of torch's that code may name."""
    return [sys.modules[each] for each in MODULES if each in sys.modules]


def formats(instruction: dis.Instruction) -> bool:
    """Whether a value is formatted by a specification, which Dynamo drops of a float, and takes for that of a text of a
    size: on the left where a number is on the right."""
    if instruction.opname == "FORMAT_VALUE":
        return bool((instruction.arg or 0) & 4)
    return instruction.opname == "FORMAT_WITH_SPEC"


def own_lists(instructions: Sequence[dis.Instruction]) -> set[object]:
    """The variables that are only ever given lists made there."""
    given: dict[object, bool] = {}
    for before, each in pairwise(instructions):
        if each.opname == "STORE_FAST":
            is_list = before.opname in CREATED and given.get(each.argval, True)
            given[each.argval] = is_list
    return {name for name, is_list in given.items() if is_list}


def against_values(values: Iterable[tuple[str, object]], modules: list[torch.nn.Module]) -> str:
    """Which of the values that code finds by name Dynamo is not trusted with; the modules in them are added."""
    for name, value in values:
        if not is_plain(value):
            return name
        modules.extend([each for each in modules_in(value) if all(each is not known for known in modules)])
    return ""


def modules_in(value: object) -> Iterator[torch.nn.Module]:
    """The modules that a plain value is, or holds."""
    if isinstance(value, torch.nn.Module):
        yield value
    elif isinstance(value, MethodType):
        yield from modules_in(value.__self__)
    elif isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from modules_in(each)


def named(code: CodeType, scope: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """The globals that code mentions."""
    for each in (code, *within(code)):
        for instruction in dis.get_instructions(each):
            if instruction.opname == "LOAD_GLOBAL":
                name = instruction.argval
                yield name, scope[name] if name in scope else getattr(builtins, name, None)


def contents(code: CodeType, closure: Sequence[CellType] | None) -> Iterator[tuple[str, object]]:
    """What code finds in the closure of its function."""
    for name, cell in zip(code.co_freevars, closure or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:
            # nothing is in it yet
            continue


def is_plain(value: object, depth: int = 0) -> bool:
    """Whether what code finds by name is of the kinds that Dynamo guards on and runs as they are."""
    kind = type(value)
    if kind in (int, float, bool, str, bytes, type(None), torch.dtype, torch.device, torch.Size, torch.memory_format):
        return True
    if kind in (torch.Tensor, torch.nn.Parameter):
        return True
    if isinstance(value, torch.nn.Module | io.TextIOBase):
        return True
    if kind in (tuple, list, dict) and depth < 3:
        items: Any = value.values() if isinstance(value, dict) else value
        return len(items) <= MOST_ITEMS and all(is_plain(item, depth + 1) for item in items)
    if isinstance(value, ModuleType):
        return value is math or value.__name__ in MODULES
    if value is torch.Tensor or isinstance(value, type | BuiltinFunctionType) and value in BUILTINS:
        return True
    name = getattr(value, "__name__", "")
    if name in NOT_OF_TORCH or name in REFUSED_NAMES:
        return False
    if kind is MethodType:
        return isinstance(value.__self__, torch.nn.Module) and is_plain(value.__func__)
    if kind is FunctionType:
        # what is in it is looked at where it is traced
        return is_users(value.__code__.co_filename) or value.__code__.co_filename.startswith(OWN)
    return any(getattr(home, name, None) is value for home in homes()) if name else False


__all__ = ["OWN", "against_code", "is_resumed", "reason_against", "reason_against_frame"]
