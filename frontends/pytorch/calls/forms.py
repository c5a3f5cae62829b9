"""Argument binding: a call has one normal form, whether arguments are positional, keyword or defaults.

    >>> from frontends.pytorch.calls.forms import Forms
    >>> def f(x, y, scale=2.0, *, flag=False): ...
    >>> forms = Forms(f)
    >>> for args, kwargs in (((1,), {"y": 2}), ((1, 2), {}), ((1, 2, 3.0), {"flag": True})):
    ...     form = forms.of(args, kwargs)
    ...     print(form.bind(args, kwargs))
    ((1, 2, 2.0), {'flag': False})
    ((1, 2, 2.0), {'flag': False})
    ((1, 2, 3.0), {'flag': True})

The parameters must be the function's own: a decorator's wrapper may inspect its arguments. The same holds for a module
with hooks, which receive the positional arguments.

Numbers of captured state that change are keyword arguments as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, MethodType

import torch
from torch.nn.modules import module as modules

from frontends.pytorch.calls.reads import Place

Bound = tuple[tuple[object, ...], dict[str, object]]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The number of positional arguments, and the names of keyword arguments.

    Attributes:
        stale: an expression that is true if the defaults or hooks have changed.
        expression: the bound arguments in terms of `_args` and `_kwargs`; None if they are the same.
        scope: the names in both.
    """

    count: int
    names: tuple[str, ...]
    stale: str | None = None
    expression: str | None = None
    scope: Mapping[str, object] | None = None

    def statements(self, *, checked: bool) -> list[str]:
        """Statements that bind `_args` and `_kwargs`, or return if a call has another form."""
        lines: list[str] = []
        if checked:
            names = f"len(_kwargs) != {len(self.names)}" if self.names else "_kwargs"
            lines = [f"if len(_args) != {self.count} or {names}:", "    return default"]
            if self.stale is not None:
                lines += [f"if {self.stale}:", "    return default"]
        if self.expression is None:
            return lines
        binding = f"_args, _kwargs = {self.expression}"
        if checked:
            # another name, or a removed default
            missing = "except (KeyError, IndexError, TypeError, AttributeError, ValueError):"
            return [*lines, "try:", f"    {binding}", missing, "    return default"]
        return [*lines, binding]

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Bound:
        """Bind the arguments."""
        if self.expression is None:
            return tuple(args), dict(kwargs)
        return eval(self.expression, {**(self.scope or {}), "_args": tuple(args), "_kwargs": kwargs})


class Forms:
    """The forms of the calls of a function."""

    def __init__(self, fn: Callable[..., object]) -> None:
        self._fn = fn
        self._known: dict[tuple[object, ...], Form] = {}
        self._defaults: tuple[object, object] = (None, None)
        self._read: dict[str, Place] = {}

    def read(self, places: Mapping[str, Place]) -> None:
        """Let every form add these places' values as keyword arguments."""
        self._read = dict(places)
        self._known.clear()

    def of(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Form:
        """The form of a call."""
        function, skipped = function_of(self._fn)
        defaults = (function, getattr(function, "__defaults__", None))
        if any(one is not other for one, other in zip(defaults, self._defaults)):
            self._known.clear()
            self._defaults = defaults
        key = (len(args), *sorted(kwargs), None, *sorted(getattr(function, "__kwdefaults__", None) or ()))
        found = self._known.get(key)
        if found is None or (found.stale is not None and eval(found.stale, dict(found.scope or {}))):
            names = tuple(sorted(kwargs))
            found = Form(len(args), names)
            if function is not None:
                found = self._bound(function, skipped, len(args), names) or found
            if self._read:
                found = self._reading(found)
            self._known[key] = found
        return found

    def _reading(self, form: Form) -> Form:
        """The same with captured numbers."""
        scope = dict(form.scope or {})
        items = []
        for number, (name, place) in enumerate(self._read.items()):
            scope[f"_holder{number}"], scope[f"_key{number}"] = place.container, place.key
            items.append(f"{name!r}: {place.printed(f'_holder{number}', f'_key{number}')}")
        given = "_args, {**_kwargs}" if form.expression is None else form.expression
        comma = "" if given.endswith("{}") else ", "
        return replace(form, expression=f"{given[:-1]}{comma}{', '.join(items)}}}", scope=scope)

    def _bound(self, function: FunctionType, skipped: int, count: int, names: Sequence[str]) -> Form | None:
        """The form by a function's parameters; None if the call is an error, or already normal."""
        code = function.__code__
        parameters = code.co_varnames[skipped : code.co_argcount]
        by_name_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        first_default = len(parameters) - len(function.__defaults__ or ())
        nameless = code.co_posonlyargcount - skipped
        left = dict.fromkeys(names)
        positional: list[str] = []
        for place, name in enumerate(parameters):
            if name in left and place >= nameless:
                if place < count:
                    return None
                del left[name]
                positional.append(f"_kwargs[{name!r}]")
            elif place < count:
                positional.append(f"_args[{place}]")
            elif place >= first_default:
                positional.append(f"_defaults[{place - first_default}]")
            else:
                return None
        if count > len(parameters):
            if not code.co_flags & CO_VARARGS:
                return None
            positional.append(f"*_args[{len(parameters)}:]")
        named = {}
        for name in by_name_only:
            if name in left:
                del left[name]
                named[name] = f"_kwargs[{name!r}]"
            elif name in (function.__kwdefaults__ or {}):
                named[name] = f"_function.__kwdefaults__[{name!r}]"
            else:
                return None
        if left and not code.co_flags & CO_VARKEYWORDS:
            return None
        named.update({name: f"_kwargs[{name!r}]" for name in left})
        if len(parameters) <= count and len(named) == len(names):
            return None
        stale = "_function.__defaults__ is not _defaults"
        scope: dict[str, object] = {"_function": function, "_defaults": function.__defaults__}
        if isinstance(self._fn, torch.nn.Module):
            scope["_module"], scope["_hooked"] = self._fn, hooked
            stale += " or _hooked(_module)"
            if hooked(self._fn):
                return None
        items = ", ".join([f"{name!r}: {value}" for name, value in named.items()])
        values = "".join([f"{value}, " for value in positional])
        return Form(count, tuple(names), stale, f"({values}), {{{items}}}", scope)


def function_of(fn: Callable[..., object]) -> tuple[FunctionType | None, int]:
    """The function that a call runs, and the number of its implicit parameters."""
    if isinstance(fn, torch.nn.Module):
        if type(fn).__call__ is not torch.nn.Module.__call__:
            return None, 0
        fn = fn.forward
    if isinstance(fn, MethodType):
        return (fn.__func__, 1) if isinstance(fn.__func__, FunctionType) else (None, 0)
    return (fn, 0) if isinstance(fn, FunctionType) else (None, 0)


def hooked(module: torch.nn.Module) -> bool:
    """Whether a hook sees a module's arguments first."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or modules._global_forward_hooks
        or modules._global_forward_pre_hooks
    )
