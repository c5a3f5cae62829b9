"""The share of a model that is lowered to kernels, by nodes of its ATen graph, and the operators still called.

    python -m benchmarks.kernel_share [--models gpt2,t5] [--write]

Each model is a training step, traced at the first of its sizes, forward and backward apart, both functionalized. Views
are not counted, as they do no work.

| column | what is counted |
|---|---|
| pointwise | nodes whose operator torch tags so, conversions among them |
| reductions | nodes whose operator torch tags so, and softmax, norms and losses with their gradients |
| share | the share of these two that is lowered to kernels |
| other | nodes that only move or make elements, and those that are called |
| kernels | kernels launched |
| called | operators of torch |

>>> import torch
>>> from benchmarks.kernel_share import kind_of
>>> aten = torch.ops.aten
>>> [kind_of(each.default) for each in (aten.gelu, aten.sum, aten.native_layer_norm_backward, aten.mm)]
['pointwise', 'reduction', 'reduction', 'other']
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks import report

if TYPE_CHECKING:
    import torch

    from frontends.pytorch.graphs.form import Form
    from shapes.env import ShapeEnv

NAMES: Final = ("gpt2", "t5", "vit", "mistral", "unet", "bert", "llama", "resnet")
REDUCING: Final = re.compile(r"softmax|_norm|nll_loss")
CONVERTING: Final = "_to_copy"


@dataclass(frozen=True, slots=True)
class Share:
    """A graph: its nodes by kind, those that are called by name, and how many kernels there are."""

    nodes: Counter[str]
    called: Counter[str]
    called_kinds: Counter[str]
    kernels: int

    def __add__(self, other: Share) -> Share:
        return Share(
            self.nodes + other.nodes,
            self.called + other.called,
            self.called_kinds + other.called_kinds,
            self.kernels + other.kernels,
        )

    def row(self) -> list[report.Cell]:
        work = self.nodes["pointwise"] + self.nodes["reduction"]
        left = self.called_kinds["pointwise"] + self.called_kinds["reduction"]
        names = ", ".join([f"{count} {name}" for name, count in self.called.most_common()])
        share = f"{100 * (work - left) / work:.0f} %" if work else "-"
        kinds = [self.nodes[kind] for kind in ("pointwise", "reduction")]
        return [*kinds, share, self.nodes["other"], self.kernels, names]


def kind_of(target: object) -> str:
    """Classify an operator."""
    import torch

    if not isinstance(target, torch._ops.OpOverload):
        return "other"
    name = target._schema.name.partition("::")[2]
    if torch.Tag.pointwise in target.tags or name == CONVERTING:
        return "pointwise"
    return "reduction" if torch.Tag.reduction in target.tags or REDUCING.search(name) else "other"


def share_of(form: Form, env: ShapeEnv) -> Share:
    """Lower a graph, and count the nodes that became kernels and those that are called."""
    from backends.decisions.questions import Decisions
    from backends.loops.kernels import Kernel
    from backends.loops.program import Program
    from backends.loops.schedule import schedule
    from frontends.pytorch.lowering.writer import Writer
    from frontends.pytorch.recording.operations import is_view

    program = Program(Decisions(env))
    writer = Writer(program, form)
    writer.run()
    called = [each.target for each in writer.calls if not is_view(each.target)]
    return Share(
        Counter([kind_of(each.target) for each in form.operations if not is_view(each.target)]),
        Counter([str(target).removeprefix("aten.").partition(".")[0] for target in called]),
        Counter(map(kind_of, called)),
        sum(isinstance(step, Kernel) for step in schedule(program)),
    )


def shares(name: str) -> tuple[Share, Share]:
    """Forward and backward of a model."""
    from benchmarks.models import MODELS
    from benchmarks.models.model import loss_of
    from frontends.pytorch import trace
    from frontends.pytorch.graphs.functional import functional_joint
    from frontends.pytorch.lowering import LOWERINGS

    model = MODELS[name]
    module = model.build()

    def loss(**inputs: torch.Tensor) -> torch.Tensor:
        return loss_of(module(**inputs))

    variant = trace(loss, (), model.inputs(*model.sizes[0]), gradients=True)
    joint = functional_joint(variant, LOWERINGS)
    return share_of(joint.forward, variant.env), share_of(joint.backward, variant.env)


def measure(options: argparse.Namespace) -> str:
    rows: list[list[report.Cell]] = []
    total = Share(Counter(), Counter(), Counter(), 0)
    for name in options.models.split(","):
        for part, share in zip(("forward", "backward"), shares(name)):
            rows.append([f"{name}, {part}", *share.row()])
            total += share
    rows.append(["all", *total.row()])
    header = ["model", "pointwise", "reductions", "share", "other", "kernels", "called"]
    return f"{report.table(header, rows)}\n\n{report.versions('torch', 'transformers')}."


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--models", default=",".join(NAMES))
    report.publish("kernel_share", "Nodes of models in own kernels", measure, parser)


if __name__ == "__main__":
    main()
