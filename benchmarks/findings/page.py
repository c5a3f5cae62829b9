"""The page of findings, from `seen.jsonl`, and that from the lines of a run."""

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

The testing kit, run on the shape rules of other projects. It compares each rule with the kernel that it models, on the
same calls; a row is the smallest call found on which they differ. All rows were observed on the versions named, on a
CPU.

    python -m benchmarks.findings show NAME      # an operator of a row: reruns its calls
    python -m benchmarks.findings run            # the whole comparison; resumes an earlier run
    python -m benchmarks.findings publish        # writes this page

It needs the extras `bench` and `testing`. `T(2, 3)` is a tensor of these sizes, float32 by default. A rule that accepts
what a kernel refuses is a row only if sizes and arguments decide it. A disagreement does not show which side is wrong:
where a kernel of ONNX Runtime refuses an empty tensor, say, the rule may be the one that follows the standard.

The most important ones:

- torch, `meta`: in-place operators let their destination grow: `torch.empty(1, device="meta").eq_(torch.empty(2,
  device="meta"))` has 2 elements, where the kernel refuses.
- torch, `meta` and symbolic: `softmax`, `sort` and `argsort` of a tensor without axes take a `dim` out of range;
  `index_put` at one index takes values with an axis; `soft_margin_loss` takes a target that does not fit its input.
- torch's kernel of `embedding_bag` with `mode="max"` crashes the process where there are no bags.
- ONNX: inference gives `Expand` to [-1] the size -1, and `ConvTranspose` with `output_shape` neither batch nor
  channels; for `STFT` it counts more frequencies than ONNX Runtime gives.
- ONNX Runtime reduces an empty axis to an empty one, although `keepdims` asks for one of size 1, as inference says.
- JAX: `einsum("ii->i", x)` exported with symbols for both sizes takes matrices that are not square.
"""

SURVEYS = {
    "torch_kernels": (
        "torch's kernels themselves",
        "torch",
        "Calls on which a kernel's result is wrong, so that rules should not follow it; the right column names the "
        "reference. Found by comparing our rules with the kernels.",
    ),
    "torch": (
        "torch's meta functions",
        "torch",
        "On the calls that our own rules are tested with: tensors on `meta`, and fake tensors with `symbolic` sizes "
        "under the Python dispatcher.",
    ),
    "torch_samples": (
        "torch's meta functions on its own operator database",
        "torch",
        "The first 25 samples of each operator: sizes, dtypes and strides of the outputs (strides of axes that have "
        "more than one element). The row shows the smallest sample that differs.",
    ),
    "onnx": (
        "`onnx.shape_inference` against ONNX Runtime",
        "onnx, onnxruntime",
        "Models of one node, opset 21, constants where numbers decide sizes; strict inference with data propagation. "
        "An unknown dimension is not a finding.",
    ),
    "jax": (
        "`jax.export` with symbolic shapes against JAX",
        "jax",
        "Functions exported with a symbol for each size, then called at the sizes. An undecided equality of "
        "symbols is a limitation, not a finding. JAX's own shape rules decide both, so other sizes would be rare.",
    ),
}
"""Title, libraries and what was done, in the order of the page."""


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
    told = "The last columns count operators. They count names: aliases and in-place forms are separate.\n"
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
