"""Functions with jaxtyping's annotations, and the truth about each: whether it returns what it says at all sizes."""

# ruff: noqa: F722, F821, UP037 - annotations hold dimensions, which are no names of Python

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

A = np.ndarray
Image = Float[A, "channels height width"]
RIGHT: list[Callable[..., Any]] = []
WRONG: list[Callable[..., Any]] = []


def right(function: Callable[..., Any]) -> Callable[..., Any]:
    RIGHT.append(function)
    return function


def wrong(function: Callable[..., Any]) -> Callable[..., Any]:
    WRONG.append(function)
    return function


class Filled:
    """The class of a method in jaxtyping's documentation."""

    some_value = 5


# ---------------------------------------------------------------- jaxtyping's documentation


@right
def matrix_multiply(x: Float[A, "dim1 dim2"], y: Float[A, "dim2 dim3"]) -> Float[A, "dim1 dim3"]:
    return x @ y


@right
def batch_outer_product(x: Float[A, "b c1"], y: Float[A, "b c2"]) -> Float[A, "b c1 c2"]:
    return x[:, :, None] * y[:, None, :]


@right
def full(size: int, like: Float[A, "other"]) -> Float[A, "{size}"]:
    return np.zeros((size,))


@right
def full_of_self(self: Filled, like: Float[A, "other"]) -> Float[A, "{self.some_value}+3"]:
    return np.zeros((self.some_value + 3,))


@wrong
def remove_last(x: Float[A, "dim"]) -> Float[A, "dim-1"]:
    return x[1:] if x.shape[0] > 0 else x  # an empty array stays empty


@right
def concatenated(x: Float[A, "dim1"], y: Float[A, "dim2"]) -> Float[A, "dim1+dim2"]:
    return np.concatenate([x, y])


@right
def add_broadcast(x: Float[A, "*#batch"], y: Float[A, "*#batch"]) -> Float[A, "*#batch"]:
    return x + y


@right
def add_one_axis(x: Float[A, "#foo"], y: Float[A, "#foo"]) -> Float[A, "#foo"]:
    return x + y


@right
def named_sizes(x: Float[A, "rows=4 cols=3"]) -> Float[A, "cols=3 rows=4"]:
    return x.T


@right
def channels_last(x: Float[A, "*batch channels"]) -> Float[A, "*batch"]:
    return x.sum(axis=-1)


@right
def any_shape(x: Float[A, "..."]) -> Float[A, "..."]:
    return x * 2


@right
def batch_of_images(x: Float[Image, "batch"]) -> Float[A, "batch channels"]:
    return x.mean(axis=(2, 3))


@right
def anonymous(x: Float[A, "_ n"], y: Float[A, "n _"]) -> Float[A, "_ _"]:
    return x @ y


# ---------------------------------------------------------------- others


@right
def linear(x: Float[A, "*b n"], w: Float[A, "m n"], bias: Float[A, "m"]) -> Float[A, "*b m"]:
    return x @ w.T + bias


@right
def scores(q: Float[A, "b h s d"], k: Float[A, "b h t d"]) -> Float[A, "b h s t"]:
    return q @ k.transpose(0, 1, 3, 2)


@right
def attention(q: Float[A, "s d"], k: Float[A, "t d"], v: Float[A, "t e"]) -> Float[A, "s e"]:
    weights = np.exp(q @ k.T)
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


@right
def twice(x: Float[A, "b s"]) -> Float[A, "b s*2"]:
    return np.concatenate([x, x], axis=1)


@right
def flattened(x: Float[A, "b h w"]) -> Float[A, "b h*w"]:
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2])


@right
def every_second(x: Float[A, "n"]) -> Float[A, "(n+1)//2"]:
    return x[::2]


@right
def stacked(x: Float[A, "n"], y: Float[A, "n"]) -> Float[A, "2 n"]:
    return np.stack([x, y])


@right
def outer(x: Float[A, "n"], y: Float[A, "m"]) -> Float[A, "n m"]:
    return x[:, None] * y[None, :]


@right
def gram(x: Float[A, "n d"]) -> Float[A, "n n"]:
    return x @ x.T


@right
def centred(x: Float[A, "n d"]) -> Float[A, "n d"]:
    return x - x.mean(axis=0)


@right
def padded(x: Float[A, "n"], k: int = 3) -> Float[A, "n+{k}"]:
    return np.concatenate([x, np.zeros((k,))])


@right
def swapped(x: Float[A, "a b c"]) -> Float[A, "c a b"]:
    return np.transpose(x, (2, 0, 1))


@right
def rows(x: Float[A, "a b"]) -> Float[A, "min(a,3) b"]:
    return x[:3]


@right
def moved(x: Float[A, "a *rest"]) -> Float[A, "*rest a"]:
    return np.moveaxis(x, 0, -1)


@right
def expanded(x: Float[A, "*b"]) -> Float[A, "*b 1"]:
    return np.expand_dims(x, -1)


@right
def trace_of_three(x: Float[A, "3 3"]) -> Float[A, "3"]:
    return np.diagonal(x)


@right
def biased(x: Float[A, "b n"], y: Float[A, "#b n"]) -> Float[A, "b n"]:
    return x + y


@right
def both(x: Float[A, "b n"]) -> tuple[Float[A, "b"], Float[A, "n"]]:
    return x.sum(axis=1), x.sum(axis=0)


@right
def repeated(x: Float[A, "n"]) -> Float[A, "3*n"]:
    return np.repeat(x, 3)


@right
def chosen(x: Float[A, "n"], y: Float[A, "n"]) -> Float[A, "n"]:
    return np.where(x > y, x, y)


@right
def joined_rows(x: Float[A, "a n"], y: Float[A, "b n"]) -> Float[A, "a+b n"]:
    return np.concatenate((x, y), axis=0)


@right
def square(x: Float[A, "n n"]) -> Float[A, "n**2"]:
    return x.reshape(x.shape[0] * x.shape[1])


@right
def polynomial(x: Float[A, "n"]) -> Float[A, "n"]:
    return x**2 + 3 * x - 1


@right
def einsum_of_two(x: Float[A, "b i j"], y: Float[A, "b j k"]) -> Float[A, "b i k"]:
    return np.einsum("bij,bjk->bik", x, y)


@right
def bound_later(x: Float[A, "#n"], y: Float[A, "n"]) -> Float[A, "n"]:
    return x + y


@wrong
def transposed_scores(q: Float[A, "b s d"], k: Float[A, "b t d"]) -> Float[A, "b t s"]:
    return q @ k.transpose(0, 2, 1)


@wrong
def missing_transpose(x: Float[A, "b n"], w: Float[A, "m n"]) -> Float[A, "b m"]:
    return x @ w


@wrong
def lost_axis(x: Float[A, "b n"]) -> Float[A, "b"]:
    return x.sum(axis=0)


@wrong
def kept_axis(x: Float[A, "b n"]) -> Float[A, "b"]:
    return x.sum(axis=1, keepdims=True)


@wrong
def unequal_sum(x: Float[A, "n"], y: Float[A, "m"]) -> Float[A, "n"]:
    return x + y


@wrong
def wrong_half(x: Float[A, "n"]) -> Float[A, "n//2"]:
    return x[::2]


@wrong
def wrong_broadcast(x: Float[A, "#b n"], y: Float[A, "b n"], z: Float[A, "#b n"]) -> Float[A, "b n"]:
    return x + z


@wrong
def wrong_sum(x: Float[A, "a"], y: Float[A, "b"]) -> Float[A, "a+b+1"]:
    return np.concatenate([x, y])


@wrong
def wrong_rank(x: Float[A, "*b n"]) -> Float[A, "*b"]:
    return x


@wrong
def rows_of_three(x: Float[A, "a b"]) -> Float[A, "3 b"]:
    return x[:3]


@wrong
def wrong_flat(x: Float[A, "b h w"]) -> Float[A, "b h+w"]:
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2])


@wrong
def wrong_of_two(x: Float[A, "b n"]) -> tuple[Float[A, "b"], Float[A, "n"]]:
    return x.sum(axis=0), x.sum(axis=1)


@wrong
def wrong_square(x: Float[A, "n m"]) -> Float[A, "n n"]:
    return x @ x.T @ x


@wrong
def wrong_padding(x: Float[A, "n"], k: int = 3) -> Float[A, "n+{k}"]:
    return np.concatenate([x, np.zeros((k + 1,))])


@wrong
def wrong_order(x: Float[A, "a *rest"]) -> Float[A, "*rest a"]:
    return x
