"""Purity: values without mutable state, and functions that depend on more than their arguments.

    >>> import os, re, time
    >>> from frontends.pytorch.python.state import is_impure, is_without_state
    >>> is_without_state(re.compile("a+")), is_without_state([1])
    (True, False)
    >>> is_impure(time.time), is_impure(os.getcwd), is_impure(len)
    (True, True, False)
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import fractions
import functools
import operator
import pathlib
import re
import sys
import threading
import types
from types import BuiltinFunctionType, CodeType, FunctionType, MethodWrapperType
from typing import Final

import torch

from frontends.pytorch.python.code_replacement import is_rewritten
from frontends.pytorch.python.generators import is_generator
from frontends.pytorch.python.mentions import mentions_of
from frontends.pytorch.source_location import FRAMEWORKS
from shapes.origin import FRAMEWORK

PLAIN: Final = frozenset(
    (
        *(bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), CodeType, range),
        *(re.Pattern, re.Match, decimal.Decimal, fractions.Fraction, types.GenericAlias, types.UnionType),
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
        *(types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
        *(types.GetSetDescriptorType, types.MemberDescriptorType, operator.itemgetter),
        *(type(threading.Lock()), type(threading.RLock()), pathlib.PosixPath),
        *(pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath, functools.cached_property),
        *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, torch.finfo, torch.iinfo),
    )
)
OF_TORCH: Final = ("torch._C", "torch._ops", "torch._library", "torch.library", "torch._classes", "torch.jit", "typing")
"""Modules of classes whose objects describe torch or types."""
OF_NUMPY: Final = ("generic", "dtype", "ufunc")
IMPURE: Final = frozenset((open, input, globals, eval, exec, __import__))
PURE_LIBRARY: Final = frozenset(
    (
        *("builtins", "math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections"),
        *("_collections", "_collections_abc", "_struct", "_bisect", "_heapq", "_statistics", "_json", "re", "_sre"),
        *("_abc", "_weakref", "weakref", "_string", "unicodedata", "binascii", "zlib", "_md5", "_sha1", "_sha256"),
        *("_sha512", "_sha3", "_blake2", "_hashlib", "_codecs", "_decimal", "decimal", "_csv", "_pickle", "copy"),
        *("_struct", "struct", "array", "types", "_typing", "typing", "enum", "_warnings", "atexit", "marshal"),
    )
)
"""C modules whose functions depend only on their arguments."""
ANY_ATTRIBUTE: Final = frozenset(
    (
        *("vars", "dir", "__dict__", "__getattribute__", "__getstate__", "__reduce__", "__reduce_ex__", "attrgetter"),
        *("methodcaller", "asdict", "astuple", "deepcopy", "getmembers", "getattr_static"),
    )
)
"""Names in code that may read attributes that it does not mention."""


ASKING: Final = frozenset(("getattr", "hasattr"))


def is_without_state(value: object) -> bool:
    """Whether a value is immutable and independent of other state."""
    kind = type(value)
    if kind in PLAIN or value is builtins.__dict__ or is_generator(value):
        # random draws are observed elsewhere
        return True
    if isinstance(value, types.GenericAlias):
        return True
    if isinstance(value, FunctionType):
        return value.__code__.co_filename.startswith((*FRAMEWORKS, *FRAMEWORK)) and value.__closure__ is None
    if kind is BuiltinFunctionType and (value.__module__ or "").startswith(("torch", "numpy")):
        return True
    owner = str(kind.__module__)
    if owner.startswith(OF_TORCH):
        return True
    numpy = sys.modules.get("numpy")
    if numpy is None or not owner.startswith("numpy"):
        return False
    if isinstance(value, tuple([getattr(numpy, name) for name in OF_NUMPY])) or owner == "numpy":
        return not isinstance(value, numpy.ndarray)
    mtrand = sys.modules.get("numpy.random.mtrand")
    return mtrand is not None and value is mtrand._rand


def is_impure(function: BuiltinFunctionType | MethodWrapperType) -> bool:
    """Whether a C function depends on the time, files, other threads or the process."""
    if function in IMPURE:
        return True
    owner = (function.__module__ or "").partition(".")[0]
    return owner in sys.stdlib_module_names and owner not in PURE_LIBRARY


def reflects(function: FunctionType) -> bool:
    """Whether a function may read attributes that it does not mention."""
    mentioned = mentions_of(function.__code__)
    if not ANY_ATTRIBUTE.isdisjoint((*mentioned.globals, *mentioned.attributes)):
        return True
    # calls of these are intercepted
    asking = ASKING.intersection(mentioned.globals)
    return bool(asking) and (not asking.isdisjoint(mentioned.passed) or not is_rewritten(function))
