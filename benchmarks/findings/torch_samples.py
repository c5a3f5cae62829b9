"""torch's meta functions on the samples of torch's own operator database: sizes, dtypes and strides of every output.

Strides count where an axis has more than one element and the output has any. The database's samples are the same in
every process, so a finding names one by its number.
"""

import warnings
from functools import cache
from typing import Any

from benchmarks.findings.record import Examined, Finding, first_line, under_way
from benchmarks.findings.torch_meta import NEEDS_DATA, UNSUPPORTED, Unsupported

LIBRARY = "torch"
MOST = 25

Output = tuple[tuple[int, ...], str, tuple[int, ...]]


@cache
def database() -> dict[str, Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return {f"{op.name}{'.' if op.variant_test_name else ''}{op.variant_test_name}": op for op in op_db}


def operators() -> list[str]:
    return sorted(database())


def samples(name: str) -> list[Any]:
    """The first samples, in float32 where the operator takes it; the smallest first."""
    import torch

    op = database()[name]
    supported = op.supported_dtypes("cpu")
    if not supported:
        return []
    dtype = torch.float32 if torch.float32 in supported else sorted(supported, key=str)[0]
    torch.manual_seed(0)
    found = []
    for _, sample in zip(range(MOST), op.sample_inputs("cpu", dtype, requires_grad=False)):
        found.append(sample)
    return found


def examine(name: str) -> Examined:
    done = Examined(name)
    _quiet()
    kinds: dict[str, tuple[int, Finding]] = {}
    for number, sample in enumerate(samples(name)):
        done.calls += 1
        found = compared(name, number, sample)
        if found is None:
            done.unsupported += 1
            continue
        weight = sum([tensor.numel() for tensor in _tensors((sample.input, *sample.args, *sample.kwargs.values()))])
        for one in found:
            if one.kind not in kinds or weight < kinds[one.kind][0]:
                kinds[one.kind] = (weight, one)
    done.findings = [found for _, found in kinds.values()]
    return done


def again(name: str, finding: Finding) -> Finding | None:
    _quiet()
    number = int(finding.where.split()[-1])
    same = [one for one in compared(name, number, samples(name)[number]) or [] if one.kind == finding.kind]
    return same[0] if same else None


def compared(name: str, number: int, sample: Any) -> list[Finding] | None:
    """Compare the meta function with the kernel on a sample; None where there is no sample, or where it needs data."""
    import torch

    where, call = f"sample {number}", told(sample)
    under_way(where, call)
    op = database()[name].op
    real: list[Output] | str
    said: list[Output] | str
    with torch.no_grad():
        torch.manual_seed(0)
        given = sample.transform(lambda value: value.clone() if _dense(value) else value)
        try:
            real = outputs_of(op(given.input, *given.args, **given.kwargs))
        except Exception as refusal:
            real = first_line(refusal)
        try:
            given = sample.transform(_to_meta)
            with torch.device("meta"):
                said = outputs_of(op(given.input, *given.args, **_on_meta(given.kwargs)))
        except Unsupported:
            return None
        except Exception as refusal:
            if type(refusal).__name__ in UNSUPPORTED or any(part in str(refusal) for part in NEEDS_DATA):
                return None
            said = first_line(refusal)
    if isinstance(real, str):
        return [] if isinstance(said, str) else [Finding("accepts", call, f"refuses: {real}", str(said[:3]), where)]
    if isinstance(said, str):
        return [Finding("refuses", call, _shown(real, 0), f"refuses: {said}", where)]
    if [one[0] for one in real] != [one[0] for one in said]:
        return [Finding("sizes", call, _shown(real, 0), _shown(said, 0), where)]
    found = []
    if [one[1] for one in real] != [one[1] for one in said]:
        found.append(Finding("dtype", call, _shown(real, 1), _shown(said, 1), where))
    if [_placed(one) for one in real] != [_placed(one) for one in said]:
        found.append(Finding("strides", call, _shown(real, 2), _shown(said, 2), where))
    return found


def told(sample: Any) -> str:
    """The arguments, tensors by their sizes."""
    args = [_text(value) for value in (sample.input, *sample.args)]
    return ", ".join([*args, *[f"{name}={_text(value)}" for name, value in sample.kwargs.items()]])


def _text(value: Any) -> str:
    import torch

    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        strides = "" if value.layout is not torch.strided or value.is_contiguous() else f", strides={value.stride()}"
        return f"{dtype}{tuple(value.shape)}{strides}"
    if isinstance(value, list | tuple):
        return f"[{', '.join([_text(item) for item in value])}]"
    return repr(value)


def _tensors(value: Any) -> list[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return [one for item in value for one in _tensors(item)]
    return []


def _dense(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def _to_meta(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    if value.layout is not torch.strided:
        raise Unsupported("a sparse tensor")
    return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")


def _on_meta(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: "meta" if name == "device" else value for name, value in kwargs.items()}


def outputs_of(result: Any) -> list[Output]:
    """The properties of each tensor in a result that are compared."""
    return [_output(tensor) for tensor in _tensors(result)]


def _output(tensor: Any) -> Output:
    import torch

    strides = tuple(tensor.stride()) if tensor.layout is torch.strided else ()
    return tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), strides


def _placed(output: Output) -> tuple[int, ...]:
    sizes, _, strides = output
    return () if 0 in sizes else tuple([stride for size, stride in zip(sizes, strides) if size > 1])


def _shown(outputs: list[Output], part: int) -> str:
    told = ", ".join([str(one[part]) if part < 2 else f"{one[0]} with strides {one[2]}" for one in outputs[:3]])
    return told if len(outputs) <= 3 else f"{told}, ... ({len(outputs)} outputs)"


@cache
def _quiet() -> None:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
