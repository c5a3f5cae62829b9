"""The page of findings, written from `seen.jsonl`, which is collected from the lines of a run."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata

from benchmarks.findings.record import KINDS, ROOT, SEEN, WORK, Examined, Finding, read
from shapes.testing.calls import Call, Input

PAGE = ROOT / "docs" / "findings.md"

INTRO = """\
# Findings in other people's shape rules

The testing kit compares the shape rules of other projects with the kernels that they model, on the same calls. Each row
is the smallest call found on which rule and kernel differ, observed on a CPU with the versions named.

    python -m benchmarks.findings show NAME      # reruns the calls of one operator
    python -m benchmarks.findings run            # runs the whole comparison, or resumes it
    python -m benchmarks.findings publish        # writes this page

The commands need the extras `bench` and `testing`. `T(2, 3)` is a tensor of these sizes, float32 by default. If a rule
accepts a call that the kernel refuses, the call is a row only if its sizes and arguments cause the refusal. A row does
not show which side is wrong: a kernel of ONNX Runtime may refuse an empty tensor that the standard allows.

The most important findings:

- torch, `meta`: in-place operators let their destination grow. `torch.empty(1, device="meta").eq_(torch.empty(2,
  device="meta"))` has 2 elements; the kernel refuses.
- torch, `meta` and symbolic: `softmax`, `sort` and `argsort` of a tensor without axes accept a `dim` out of range,
  `index_put` at one index accepts values with an axis, and `soft_margin_loss` accepts a target of another size.
- torch's kernel of `embedding_bag` with `mode="max"` crashes the process if there are no bags.
- ONNX: inference infers the size -1 for `Expand` to [-1], drops batch and channels of `ConvTranspose` with
  `output_shape`, and counts more frequencies of `STFT` than ONNX Runtime computes.
- ONNX Runtime reduces an empty axis to an empty axis, although `keepdims` asks for size 1; inference is right.
- JAX: `einsum("ii->i", x)`, exported with a symbol for each size, accepts matrices that are not square.
"""

SURVEYS = {
    "torch_kernels": (
        "torch's kernels themselves",
        "torch",
        "Calls on which a kernel's result is wrong, found by comparing our rules with the kernels. Rules should not "
        "follow them; the right column names the expected result.",
    ),
    "torch": (
        "torch's meta functions",
        "torch",
        "Compared on the test calls of our own rules: tensors on `meta`, and fake tensors with `symbolic` sizes under "
        "the Python dispatcher.",
    ),
    "torch_samples": (
        "torch's meta functions on its own operator database",
        "torch",
        "The first 25 samples of each operator are compared by sizes, dtypes and strides of the outputs (strides only "
        "of axes with more than one element). A row shows the smallest sample that differs.",
    ),
    "onnx": (
        "`onnx.shape_inference` against ONNX Runtime",
        "onnx, onnxruntime",
        "Models of one node, opset 21, with constants for inputs that decide sizes; strict inference with data "
        "propagation. An unknown dimension is not a finding.",
    ),
    "jax": (
        "`jax.export` with symbolic shapes against JAX",
        "jax",
        "Functions are exported with a symbol for each size, then called at the sizes. An undecided equality of "
        "symbols is a limitation, not a finding. JAX computes both by the same rules, so sizes seldom differ.",
    ),
}
"""Title, libraries and method, in the order of the page."""


@dataclass
class Summary:
    """The scope of a survey: its operators, calls and versions."""

    survey: str
    operators: int
    calls: int
    unsupported: int
    failed: list[str]
    versions: str


def publish() -> None:
    """Keep the findings of the run in `.findings/`, and write the page."""
    lines = []
    for name, (_, libraries, _) in SURVEYS.items():
        examined = list(read(WORK / f"{name}.jsonl"))
        if not examined:
            continue
        summary = Summary(
            name,
            len(examined),
            sum(one.calls for one in examined),
            sum(one.unsupported for one in examined),
            sorted(one.operator for one in examined if one.failed),
            ", ".join(f"{each} {metadata.version(each)}" for each in libraries.split(", ")),
        )
        lines.append(json.dumps(asdict(summary)))
        for one in sorted(examined, key=lambda one: one.operator):
            if one.findings:
                lines.append(json.dumps({"survey": name, **asdict(one)}))
    SEEN.write_text("\n".join(lines) + "\n")
    PAGE.write_text(page())


def seen() -> tuple[dict[str, Summary], dict[str, list[Examined]]]:
    """Read `seen.jsonl`: the summaries, and the operators with findings."""
    summaries: dict[str, Summary] = {}
    found: dict[str, list[Examined]] = {}
    for line in SEEN.read_text().splitlines():
        values = json.loads(line)
        survey = values["survey"]
        if "operators" in values:
            summaries[survey] = Summary(**values)
            found[survey] = []
        else:
            findings = [Finding(**one) for one in values["findings"]]
            found[survey].append(Examined(values["operator"], values["calls"], values["unsupported"], findings))
    return summaries, found


def page() -> str:
    summaries, found = seen()
    parts = [INTRO, table(summaries, found)]
    for name, summary in summaries.items():
        parts += section(summary, found[name], *SURVEYS[name])
    return "\n".join(parts).rstrip() + "\n"


def table(summaries: dict[str, Summary], found: dict[str, list[Examined]]) -> str:
    """Tabulate the amount that was run, and operators by kind of finding."""
    kinds = [kind for kind in KINDS if any(f.kind == kind for each in found.values() for o in each for f in o.findings)]
    header = ["survey", "versions", "operators", "calls", "rule has no answer", *[KINDS[kind] for kind in kinds]]
    rows = [header, ["---"] * 2 + ["---:"] * (len(header) - 2)]
    for name, summary in summaries.items():
        count = Counter(kind for one in found[name] for kind in {finding.kind for finding in one.findings})
        numbers = [summary.operators, summary.calls, summary.unsupported, *[count[kind] for kind in kinds]]
        rows.append([SURVEYS[name][0], summary.versions, *[f"{number:,}" for number in numbers]])
    told = "The last columns count operators by name: aliases and in-place forms count separately.\n"
    return "\n".join([*["| " + " | ".join(row) + " |" for row in rows], "", told])


def section(summary: Summary, found: list[Examined], title: str, libraries: str, what: str) -> Iterator[str]:
    yield f"## {title}\n\n{summary.versions}. {what}\n"
    if summary.failed:
        yield f"Could not be examined: {', '.join([f'`{name}`' for name in summary.failed])}.\n"
    right = "expected" if summary.survey == "torch_kernels" else "rule"
    for kind, told in KINDS.items():
        rows = list(grouped(found, kind))
        if not rows:
            continue
        yield f"### {told[0].upper()}{told[1:]}\n"
        yield f"| operator | call | kernel | {right} |\n|---|---|---|---|"
        for names, finding, where in rows:
            shown = ", ".join([f"`{name}`" for name in names]) + (f" ({where})" if where else "")
            yield f"| {shown} | `{cell(call_text(finding.call))}` | {cell(finding.kernel)} | {cell(finding.rule)} |"
        yield ""
    if not found:
        yield "Nothing found.\n"


def grouped(found: Iterable[Examined], kind: str) -> Iterator[tuple[list[str], Finding, str]]:
    """Findings of a kind; operators that show the same on the same sizes, and rules that say the same, in one row."""
    rows: dict[tuple[str, str, str, str], tuple[list[str], Finding]] = {}
    for one in found:
        same = [finding for finding in one.findings if finding.kind == kind]
        if not same:
            continue
        where = ", ".join(dict.fromkeys(finding.where for finding in same if finding.where))
        first = same[0]
        sizes = re.sub(r", (bool|u?int\d+|float\d+)(?=[,)])", "", call_text(first.call))
        key = (where, sizes, first.kernel.replace(one.operator, ""), first.rule.replace(one.operator, ""))
        rows.setdefault(key, ([], first))[0].append(one.operator)
    for (where, *_), (names, first) in rows.items():
        yield names, first, where


def call_text(text: str) -> str:
    """A call as the page shows it.

    >>> call_text("Call((Input((2,)), [Input((), dtype='int64')]), {'dim': 0})")
    'T(2), [T(int64)], dim=0'
    """
    if not text.startswith("Call("):
        return text
    call: Call = eval(text, {"Call": Call, "Input": Input})
    args = [_value(value) for value in call.args]
    return ", ".join([*args, *[f"{name}={_value(value)}" for name, value in call.kwargs.items()]])


def _value(value: object) -> str:
    if isinstance(value, Input):
        parts = [str(size) for size in value]
        parts += [value.dtype] * (value.dtype not in (None, "float32"))  # type: ignore[list-item]
        parts += [f"strides={value.strides}"] * (value.strides is not None)
        parts += [f"values={list(value.values or ())}"] * (value.values is not None)
        return f"T({', '.join(parts)})"
    if isinstance(value, list):
        return f"[{', '.join([_value(item) for item in value])}]"
    if isinstance(value, tuple):
        return f"({', '.join([_value(item) for item in value])}{',' * (len(value) == 1)})"
    return repr(value)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
