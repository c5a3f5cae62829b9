"""Torch's global settings: a program that sets one falls back to eager; those that it reads are guarded.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def f(x):
    ...     torch.set_num_threads(1)
    ...     return x + 1
    >>> trace(f, (torch.ones(2),))
    Traceback (most recent call last):
    frontends.pytorch.errors.EagerOnly: torch.set_num_threads() is called: a graph would not do it again
      at:     `torch.set_num_threads(1)` ...

A graph neither sets nor reads settings, so a call that sets one falls back to eager, and those that a program reads by
name (`Setting.names`) are guarded. Gradient mode and autocast may be set for a part of a program, which the trace
follows: only a lasting change is refused.
"""

from __future__ import annotations

import decimal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from frontends.pytorch.errors import eager_only

if TYPE_CHECKING:
    from shapes.origin import Origin

SMALLEST: Final = [sys.float_info.min]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A global setting of torch.

    Attributes:
        text: the description.
        read: reads the setting.
        write: writes it.
        names: names in code that read it.
    """

    text: str
    read: Callable[[], Any]  # torch's
    write: Callable[[Any], object]
    names: tuple[str, ...] = ()


def _of_deterministic() -> object:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch._C._get_deterministic_fill_uninitialized_memory(),
    )


def _set_deterministic(value: tuple[bool, bool, bool]) -> None:
    torch._C._set_deterministic_algorithms(value[0], warn_only=value[1])
    torch._C._set_deterministic_fill_uninitialized_memory(value[2])


def _of_autocast(device: str) -> Setting:
    return Setting(
        f"autocast for {device}",
        lambda: (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)),
        lambda value: (torch.set_autocast_enabled(device, value[0]), torch.set_autocast_dtype(device, value[1])),
        ("get_autocast_dtype", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype"),
    )


def _flag(name: str, get: str, set: str, *names: str) -> Setting:
    return Setting(name, getattr(torch._C, get), getattr(torch._C, set), names)


SETTINGS: Final = (
    Setting("gradient mode", torch.is_grad_enabled, torch._C._set_grad_enabled),
    Setting("the default dtype", torch.get_default_dtype, torch._C._set_default_dtype),
    Setting("inference mode", torch.is_inference_mode_enabled, lambda value: None, ("is_inference_mode_enabled",)),
    Setting(
        "deterministic algorithms",
        _of_deterministic,
        _set_deterministic,
        (
            "are_deterministic_algorithms_enabled",
            "is_deterministic_algorithms_warn_only_enabled",
            "get_deterministic_debug_mode",
            "fill_uninitialized_memory",
        ),
    ),
    Setting("the number of threads", torch.get_num_threads, torch.set_num_threads, ("get_num_threads",)),
    Setting(
        "the precision of products",
        torch.get_float32_matmul_precision,
        torch._C._set_float32_matmul_precision,
        ("get_float32_matmul_precision", "fp32_precision"),
    ),
    _flag("cudnn", "_get_cudnn_enabled", "_set_cudnn_enabled", "enabled"),
    _flag("cudnn.benchmark", "_get_cudnn_benchmark", "_set_cudnn_benchmark", "benchmark"),
    _flag("cudnn.deterministic", "_get_cudnn_deterministic", "_set_cudnn_deterministic", "deterministic"),
    _flag("cudnn.allow_tf32", "_get_cudnn_allow_tf32", "_set_cudnn_allow_tf32", "allow_tf32"),
    _flag("cuda.matmul.allow_tf32", "_get_cublas_allow_tf32", "_set_cublas_allow_tf32", "allow_tf32"),
    _flag("mkldnn", "_get_mkldnn_enabled", "_set_mkldnn_enabled", "enabled"),
    _flag("flash attention", "_get_flash_sdp_enabled", "_set_sdp_use_flash", "flash_sdp_enabled"),
    _flag(
        "memory-efficient attention",
        "_get_mem_efficient_sdp_enabled",
        "_set_sdp_use_mem_efficient",
        "mem_efficient_sdp_enabled",
    ),
    _flag("plain attention", "_get_math_sdp_enabled", "_set_sdp_use_math", "math_sdp_enabled"),
    _flag("cudnn's attention", "_get_cudnn_sdp_enabled", "_set_sdp_use_cudnn", "cudnn_sdp_enabled"),
    Setting(
        "the fast path of attention",
        torch.backends.mha.get_fastpath_enabled,
        torch.backends.mha.set_fastpath_enabled,
        ("get_fastpath_enabled",),
    ),
    Setting(
        "anomaly detection",
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda value: torch._C.set_anomaly_enabled(*value),
        ("is_anomaly_enabled", "is_anomaly_check_nan_enabled"),
    ),
    _of_autocast("cpu"),
    _of_autocast("cuda"),
    Setting(
        "autocast's cache",
        torch.is_autocast_cache_enabled,
        torch.set_autocast_cache_enabled,
        ("is_autocast_cache_enabled",),
    ),
    Setting("warnings each time", torch.is_warn_always_enabled, torch._C._set_warnAlways, ("is_warn_always_enabled",)),
    Setting(
        "print options",
        lambda: tuple(vars(torch._tensor_str.PRINT_OPTS).items()),
        lambda value: vars(torch._tensor_str.PRINT_OPTS).update(value),
        ("PRINT_OPTS", "get_printoptions"),
    ),
    Setting("flushing of denormal numbers", lambda: SMALLEST[0] / 2 == 0, torch._C.set_flush_denormal),
)
"""Settings whose changes outlive a call, or that are read."""


def _of_decimals() -> object:
    context = decimal.getcontext()
    return context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp


OF_PYTHON: Final = (
    Setting(
        "the context of decimals",
        _of_decimals,
        lambda value: None,
        ("Decimal", "decimal", "getcontext", "localcontext", "setcontext", "quantize"),
    ),
)
"""Python's settings, which are only read: reading one creates it, so a trace does not read all of them."""

SETTERS: Final = (
    *("set_num_threads", "set_num_interop_threads", "set_flush_denormal", "set_anomaly_enabled"),
    *("_set_deterministic_algorithms", "_set_deterministic_fill_uninitialized_memory", "_set_default_dtype"),
    *("_set_default_tensor_type", "_set_float32_matmul_precision", "_set_fp32_precision_setter"),
    *("_set_cudnn_enabled", "_set_cudnn_benchmark", "_set_cudnn_deterministic", "_set_cudnn_allow_tf32"),
    *("_set_cublas_allow_tf32", "_set_cublas_allow_fp16_reduced_precision_reduction"),
    *("_set_cublas_allow_bf16_reduced_precision_reduction", "_set_mkldnn_enabled", "_set_mkldnn_deterministic"),
    *("_set_onednn_allow_tf32", "_set_sdp_use_flash", "_set_sdp_use_mem_efficient", "_set_sdp_use_math"),
    *("_set_sdp_use_cudnn", "_set_sdp_use_overrideable", "_set_sdp_priority_order", "_set_warnAlways"),
    *("_set_math_sdp_allow_fp16_bf16_reduction", "_set_nnpack_enabled", "_set_qengine"),
    *("_set_check_sparse_tensor_invariants", "_set_blas_preferred_backend", "_set_linalg_preferred_backend"),
)
"""The functions of `torch._C` that change global settings."""


def of_setting(setting: Setting) -> object:
    """The setting's value, as of a place."""
    return setting.read()


def setters() -> Iterator[tuple[ModuleType, str]]:
    """The attributes through which they, and Python setters, are called."""
    for name in SETTERS:
        for module in (torch._C, torch):
            if name in vars(module):
                yield module, name
    yield torch, "set_default_device"


def read_by(names: Collection[str]) -> Iterator[Setting]:
    """The settings that code with these names may read."""
    for setting in (*SETTINGS, *OF_PYTHON):
        if any(name in names for name in setting.names):
            yield setting


@contextmanager
def settings_watched(line_of: Callable[[str], Origin | None]) -> Iterator[None]:
    """Check that settings are unchanged at the end of the block; `line_of` finds a name in the program.

    Raises:
        EagerOnly: the program has changed one.
    """
    before = [setting.read() for setting in SETTINGS]
    try:
        yield
    finally:
        changed = [(setting, value) for setting, value in zip(SETTINGS, before) if setting.read() != value]
        for setting, value in changed:
            setting.write(value)
    if changed:
        text = changed[0][0].text
        place = next(filter(None, map(line_of, NAMED.get(text, ()))), None)
        eager_only(f"{text} is set, and stays so after the call", "set it outside of the function", place)


NAMED: Final = {
    "gradient mode": ("set_grad_enabled", "_set_grad_enabled"),
    "autocast for cpu": ("set_autocast_enabled", "set_autocast_cpu_enabled", "set_autocast_dtype"),
    "autocast for cuda": ("set_autocast_enabled", "set_autocast_gpu_enabled", "set_autocast_dtype"),
    "autocast's cache": ("set_autocast_cache_enabled",),
    "print options": ("set_printoptions",),
}
"""The names that set those which may be set for a part of a program."""
