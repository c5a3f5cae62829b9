"""Python's builtins in Python that a tracer follows, for what a size, a tensor or an object decides.

    >>> from frontends.python_functions import contains, remainder_of_power, sort
    >>> contains([3, 4], 4), remainder_of_power(2, 5, 7)
    (True, 4)
    >>> items = ["b", "a"]
    >>> sort(items, [2, 1], reverse=False)
    >>> items
    ['a', 'b']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final


def contains(container: Sequence[object], item: object) -> bool:
    """Return True if an element is the item or equals it. For the last one it is a value that only the run may know."""
    for index, each in enumerate(container, 1):
        is_found = each is item or bool(each == item)
        if index == len(container) or is_found:
            return is_found
    return False


def quotient(a: int, b: int) -> tuple[int, int]:
    """The results of `divmod`."""
    return a // b, a % b


def larger(a: float, b: float) -> float:
    """The result of `max`: the first one of equals."""
    return b if b > a else a


def smaller(a: float, b: float) -> float:
    """The result of `min`: the first one of equals."""
    return b if b < a else a


def largest(items: Iterable[Any], key: Callable[[Any], Any] | None, *default: object) -> object:
    """The result of `max(items, key=key, default=default)`."""
    found: tuple[Any, ...] = ()
    for each in items:
        value = each if key is None else key(each)
        if not found or value > found[0]:
            found = value, each
    return chosen(found, default, EMPTY[0])


def smallest(items: Iterable[Any], key: Callable[[Any], Any] | None, *default: object) -> object:
    """The result of `min(items, key=key, default=default)`."""
    found: tuple[Any, ...] = ()
    for each in items:
        value = each if key is None else key(each)
        if not found or value < found[0]:
            found = value, each
    return chosen(found, default, EMPTY[1])


def chosen(found: tuple[Any, ...], default: tuple[object, ...], message: str) -> object:
    """The found element, the last of `found`, or the default, if there is one."""
    if found or default:
        return found[1] if found else default[0]
    raise ValueError(message)


def inverted(number: int) -> int:
    """The result of `~`."""
    return -number - 1


def remainder_of_power(a: int, b: int, modulus: int) -> int:
    """The result of `pow(a, b, modulus)`."""
    return int(a**b % modulus)


def number_of_bytes(tensor: Any) -> int:
    """The bytes of a tensor's elements."""
    return int(tensor.numel() * tensor.element_size())


def matrix_product(a: Any, b: object) -> object:
    """The result of `a @ b` by the method of an object."""
    result = a.__matmul__(b)
    if result is NotImplemented:
        raise TypeError("unsupported operand type(s) for @")
    return result


def checked(condition: bool, message: Callable[[], object]) -> None:
    """The effect of `torch._check`."""
    if not condition:
        raise RuntimeError(message())


def sort(items: list[object], keys: Sequence[Any], reverse: bool) -> None:
    """Sort a list by keys; equals keep their order."""
    sorted_items: list[object] = []
    sorted_keys: list[Any] = []
    places = range(len(items))
    for index in reversed(places) if reverse else places:
        place = len(sorted_items)
        while place > 0 and keys[index] < sorted_keys[place - 1]:
            place -= 1
        sorted_items.insert(place, items[index])
        sorted_keys.insert(place, keys[index])
    items[:] = sorted_items[::-1] if reverse else sorted_items


def message_of(choose: Callable[[list[int]], int]) -> str:
    """The message of the error of `max` or `min` for no elements, which depends on Python's version."""
    try:
        choose([])
    except ValueError as error:
        return str(error)
    raise AssertionError("an element of an empty list")


EMPTY: Final = message_of(max), message_of(min)
