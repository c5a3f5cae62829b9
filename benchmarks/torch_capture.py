"""Models compiled by `torch.compile(dynamic=True)`, by torch's own ShapeEnv and by the engine as torch's ShapeEnv.

    python -m benchmarks.torch_capture [--models gpt2,unet] [--backends aot_eager,inductor] [--rounds 3] [--write]

| column | what is measured |
|---|---|
| torch's, s | processor seconds of the first call, those of its C compiler included |
| ratio | with the reasoner, of that: the median of the rounds, and the worst |
| / static | with the reasoner, of what torch takes with constant sizes |
| symbolic | processor time of symbolic reasoning, with the reasoner by without, where it is measured |
| guards | that torch writes for all environments, with the reasoner and without |
| both, only ours, only torch, conflicts | of torch's questions in shadow mode: who decides them |

Inference without gradients at the first size of the model. Each compilation has a process of its own with empty caches,
in which another function was compiled before, and they are interleaved. The models' results are compared bitwise. Rows
are written one by one; a row that takes more than `--limit` seconds shows only the problem.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from benchmarks import report
from benchmarks.compiled_models import chosen, spent

if TYPE_CHECKING:
    from benchmarks.models import Model

IMAGES: Final = ("deit", "swin", "convnext")
"""Beside the ten of `compiled_models`: those that timm has too."""
BACKENDS: Final = ("aot_eager", "inductor")
ENGINES: Final = ("torch", "reasoner", "static")
OPERATORS: Final = "add sub mul floordiv mod eq ne lt le gt ge radd rsub rmul bool int"
QUESTIONS: Final = {
    "torch.fx.experimental.symbolic_shapes:ShapeEnv": (
        "evaluate_expr evaluate_sym_node simplify replace bound_sympy guard_or_defer_runtime_assert "
        "produce_guards_verbose create_symbol _maybe_evaluate_static get_implications"
    ),
    "frontends.pytorch.shape_env.adapter:EngineShapeEnv": (
        "evaluate_expr evaluate_sym_node guard_or_defer_runtime_assert produce_guards_verbose create_symbol "
        "_maybe_evaluate_static"
    ),
    "torch._inductor.sizevars:SizeVarAllocator": (
        "simplify _simplify_with_ranges _simplify_loops_impl statically_known_true evaluate_expr evaluate_min "
        "optimization_hint optimization_hints check_equals check_leq check_lt"
    ),
    "torch._inductor.codegen.cpp:": "stride_at_vec_range",
}
"""Where questions on symbols are asked, beside the operations of torch's nodes."""


def models() -> dict[str, Model]:
    from benchmarks import compiled_models
    from benchmarks.models import MODELS

    return {**compiled_models.models(), **{name: MODELS[name] for name in IMAGES}}


# ---------------------------------------------------------------------- a compilation


class Stopwatch:
    """Processor time in the outermost of functions that call each other."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.inside = False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*operands: Any, **named: Any) -> Any:
            if self.inside:
                return function(*operands, **named)
            self.inside = True
            began = time.process_time()
            try:
                return function(*operands, **named)
            finally:
                self.seconds += time.process_time() - began
                self.inside = False

        called.__dict__.update({name: getattr(function, name) for name in ("cache_clear", "cache_info")
                                if hasattr(function, name)})  # fmt: skip
        return called

    def watch(self) -> None:
        """Time what is asked of symbols from here on."""
        from importlib import import_module

        import torch
        from torch.fx.experimental.sym_node import SymNode

        from frontends.pytorch.shape_env.nodes import EngineSymNode

        for owner_of_operations in (SymNode, EngineSymNode):
            for name, value in list(vars(owner_of_operations).items()):
                if callable(value) and not name.startswith("_"):
                    setattr(owner_of_operations, name, self.timed(value))
        for kind in (torch.SymInt, torch.SymBool, torch.SymFloat):
            for name in OPERATORS.split():
                operation = f"__{name}__"
                if operation in vars(kind):
                    setattr(kind, operation, self.timed(getattr(kind, operation)))
        for place, names in QUESTIONS.items():
            module, _, owner = place.partition(":")
            target = getattr(import_module(module), owner) if owner else import_module(module)
            for name in names.split():
                setattr(target, name, self.timed(getattr(target, name)))


def written_guards(environment: Any) -> list[Any]:
    """The guards of an environment, without those that the engine drops."""
    found: list[Any] = environment.needed_guards() if hasattr(environment, "needed_guards") else environment.guards
    return found


def answers_of(seen: Any) -> list[int]:
    """The numbers of questions in shadow mode that both decide, only ours, only torch, and of conflicts."""
    if not hasattr(seen, "only_torch"):
        return []
    return [seen.both, len(seen.only_ours), len(seen.only_torch), len(seen.conflicts)]


def row_of(name: str, backend: str, engine: str, symbolic: bool) -> None:
    """One compilation in this process: a line of JSON."""
    import torch
    import torch.fx.experimental.symbolic_shapes as symbolic_shapes

    from benchmarks.compiled_models import program
    from frontends.pytorch import reasoner

    torch.set_num_threads(1)
    dynamic = engine != "static"
    model = models()[name]
    _, function = program(model)
    torch.manual_seed(1)
    inputs = model.inputs(*model.sizes[0])
    within: AbstractContextManager[object] = nullcontext()
    if engine in ("reasoner", "shadow"):
        within = reasoner(compare=engine == "shadow")
    environments = []
    watch = Stopwatch()
    if symbolic:
        watch.watch()
    with within as seen, torch.no_grad():
        made = symbolic_shapes.ShapeEnv.__init__

        def remembered(self: Any, *options: Any, **named: Any) -> None:
            made(self, *options, **named)
            if all(each is not self for each in environments):  # the reasoner's has torch's `__init__` called once more
                environments.append(self)

        symbolic_shapes.ShapeEnv.__init__ = remembered
        torch.compile(lambda x: (x * 2).softmax(-1).sum(), backend=backend, dynamic=dynamic)(torch.ones(3, 5))
        torch._dynamo.reset()
        environments.clear()
        watch.seconds = 0.0
        compiled = torch.compile(function, backend=backend, dynamic=dynamic)
        torch.manual_seed(0)
        began = spent()
        result = compiled(**inputs)
        seconds = spent() - began
    found = {
        "seconds": seconds,
        "symbolic": watch.seconds,
        "guards": sum([len(written_guards(each)) for each in environments]),
        "answers": answers_of(seen),
        "result": hashlib.sha256(result.numpy().tobytes()).hexdigest(),
    }
    print(json.dumps(found), flush=True)


def compiled(name: str, backend: str, engine: str, limit: float, symbolic: bool = False) -> dict[str, Any]:
    """The same in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.torch_capture", "--row", name, backend, engine]
        run = subprocess.run(
            [*command, *["--symbolic"] * symbolic],
            env=environment, capture_output=True, text=True, check=False, timeout=limit,
        )  # fmt: skip
    if run.returncode:
        raise RuntimeError((run.stderr.strip().splitlines() or ["no message"])[-1][:200])
    found: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    return found


# ---------------------------------------------------------------------- the table


def row(name: str, backend: str, options: argparse.Namespace) -> list[report.Cell]:
    """Both in turns, as often as asked.

    Raises:
        RuntimeError: a compilation failed, or results differ.
    """
    runs: dict[str, list[dict[str, Any]]] = {"torch": [], "reasoner": []}
    for turn in range(options.rounds):
        for engine in list(runs)[:: 1 if turn % 2 == 0 else -1]:
            runs[engine].append(compiled(name, backend, engine, options.limit))
    if len({each["result"] for found in runs.values() for each in found}) != 1:
        raise RuntimeError("results differ")
    ratios = [ours["seconds"] / theirs["seconds"] for theirs, ours in zip(runs["torch"], runs["reasoner"])]
    ours = statistics.median([each["seconds"] for each in runs["reasoner"]])
    static = compiled(name, backend, "static", options.limit)["seconds"]
    answers = compiled(name, backend, "shadow", options.limit)["answers"]
    watched = [compiled(name, backend, engine, options.limit, symbolic=True)["symbolic"] for engine in runs]
    return [
        name, backend, statistics.median([each["seconds"] for each in runs["torch"]]), statistics.median(ratios),
        max(ratios), ours / static, watched[1] / watched[0],
        f"{runs['reasoner'][0]['guards']} of {runs['torch'][0]['guards']}", *answers,
    ]  # fmt: skip


def measure(options: argparse.Namespace) -> Iterator[str]:
    """The table, anew with each of its rows."""
    rows: list[list[report.Cell]] = []
    problems = []
    for backend in options.backends.split(","):
        for name in chosen(options.models, list(models())):
            try:
                rows.append(row(name, backend, options))
            except (RuntimeError, subprocess.TimeoutExpired) as problem:
                problems.append(f"{name}, {backend}: {problem}.")
            header = ["model", "backend", "torch's, s", "ratio", "worst", "/ static", "symbolic", "guards"]
            header += ["both", "only ours", "only torch", "conflicts"]
            yield "\n\n".join([report.table(header, rows), *problems, f"{report.versions('torch', 'transformers')}."])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--models", default="", help="some of them, with commas between")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="aot_eager, inductor, or both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=900, help="seconds of wall time for a compilation")
    parser.add_argument("--row", nargs=3, metavar=("MODEL", "BACKEND", "ENGINE"), help="one, in this process")
    parser.add_argument("--symbolic", action="store_true", help="of that, time the questions on symbols")
    options = parser.parse_args()
    if options.row:
        row_of(*options.row, options.symbolic)
        return
    for body in measure(options):
        print(body, end="\n\n", flush=True)
        if options.write:
            arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
            command = " ".join(["python", "-m", "benchmarks.torch_capture", *arguments])
            title = "torch.compile with dynamic sizes, with the reasoner"
            report.write_section("torch_capture", title, body, command=command)


if __name__ == "__main__":
    main()
