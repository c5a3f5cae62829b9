"""Every rule runs where no framework can be imported.

If it fails, the author of another compiler has to install torch, or NumPy, for the rule that is named.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent.parent

PROGRAM = '''
import sys


class Blocked:
    """Refuses to import a framework."""

    names = {"torch", "numpy", "jax", "jaxlib", "onnx", "onnxruntime", "tensorflow", "scipy"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)


sys.meta_path.insert(0, Blocked())

from hypothesis import HealthCheck, Phase, find, settings

from shapes import ShapeEnv, ShapeError
from shapes.rules import rules
from shapes.testing.arguments import arguments_for, operators_with_arguments
from shapes.testing.calls import Input

without_strategy = {
    "all_gather_single": (0, 4),
    "all_gather_tensor": (0, 4),
    "all_reduce": ("sum", 4),
    "all_to_all": (0, 1, 4),
    "all_to_all_single": (None, None, 4),
    "broadcast": (0, 4),
    "compute_local_shape_and_global_offset": ((2, 2), (1, 0), (0, None)),
    "numpy.getitem": (0,),
    "pad_shard": (0, 4),
    "permute_tensor": ([1, 0], 2),
    "reduce_scatter_single": ("sum", 0, 4),
    "reduce_scatter_tensor": ("sum", 0, 4),
    "shard_tensor": (0, 4, 3),
    "strided_shard_tensor": (0, 2, 4, 3),
    "wait_tensor": (),
}


def accepts(rule):
    def runs(call):
        env = ShapeEnv()
        symbolic = lambda given: Input(
            [env.symbol(f"s{len(env.symbols)}", hint=size) for size in given],
            dtype=given.dtype, strides=given.strides, values=given.values, low=given.low, high=given.high,
        )
        args, kwargs = call.replaced(symbolic)
        try:
            rule(env, *args, **kwargs)
        except ShapeError:
            return False
        return True

    return runs


once = settings(
    max_examples=200, phases=[Phase.generate], derandomize=True, database=None, deadline=None,
    suppress_health_check=list(HealthCheck),
)
drawn = set(operators_with_arguments())
for name, rule in rules.items():
    if name in drawn:
        find(arguments_for(name), accepts(rule), settings=once)
    else:
        env = ShapeEnv()
        rule(env, env.sizes("b s", hints=(8, 4)), *without_strategy[name])
    print(name)
assert not Blocked.names & {name.partition(".")[0] for name in sys.modules}
'''


def test_every_rule_runs_where_no_framework_can_be_imported() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    ran = done.stdout.split()
    assert not done.returncode, f"after {ran[-1:]}: {done.stderr[-2000:]}"
    assert len(ran) >= 180
