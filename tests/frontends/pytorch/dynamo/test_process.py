"""Nothing of the user's process is patched: not by the import of this package, not while it captures."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import builtins, gc, importlib, json, math, sys, threading, types
import torch, torch._dynamo, torch.fx.experimental.symbolic_shapes, torch._dynamo.output_graph

def helper(x):
    return x * 2

SEEN = []

def names(module):
    # modules within a package become attributes of it when they are imported
    values = {name: value for name, value in vars(module).items() if not isinstance(value, types.ModuleType)}
    return {name: id(value) for name, value in values.items() if not name.startswith("__warning")}

def state():
    return {
        "builtins": names(builtins),
        "math": names(math),
        "importlib": names(importlib),
        "import": id(builtins.__import__),
        "codes": [id(each.__code__) for each in (helper, program, json.dumps)],
        "profile": [str(sys.getprofile()), str(threading.getprofile()) if hasattr(threading, "getprofile") else ""],
        "trace": str(sys.gettrace()),
        "gc": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks)],
        "switch": sys.getswitchinterval(),
        "recursion": sys.getrecursionlimit(),
        "hooks": [str(sys.excepthook), str(sys.displayhook), str(sys.meta_path), len(sys.path_hooks)],
        "open": id(open),
    }

def program(x):
    y = helper(x)
    if x.shape[0] > 3:
        y = y + math.sqrt(4.0)
    print(end="")
    return y.relu()

def differences(before, after):
    return sorted(name for name in before if before[name] != after[name])

before = state()
import frontends.pytorch
import frontends.pytorch.dynamo.backend as backend
report = {"import": differences(before, state())}

# a second thread looks while Dynamo reads the program, and while our tracer reads a graph
look, looked, found = threading.Event(), threading.Event(), []

def watch():
    while look.wait() and not done:
        look.clear()
        found.append(differences(before, state()))
        looked.set()

done = False
thread = threading.Thread(target=watch)
thread.start()

def pause():
    looked.clear()
    look.set()
    looked.wait()

from frontends.pytorch.variants import compiled_graph
traced, choice = compiled_graph.trace, frontends.pytorch.shape_env.marking.StatedSizes.choice

def tracing(*args, **kwargs):
    pause()
    return traced(*args, **kwargs)

def choosing(*args):
    pause()
    return choice(*args)

compiled_graph.trace = tracing
frontends.pytorch.shape_env.marking.StatedSizes.choice = choosing
x = torch.ones(5)
wanted = program(x)
for compiled in (
    frontends.pytorch.compile(program, backend="cpu"),
    torch.compile(program, backend="symshape"),
):
    torch.compiler.reset()
    for size in (5, 6, 2):
        assert torch.equal(compiled(torch.ones(size)), program(torch.ones(size)))
done = True
look.set()
thread.join()
report["during"] = sorted(set(sum(found, [])))
report["looks"] = len(found)
report["after"] = differences(before, state())
print(json.dumps(report))
"""


def test_nothing_of_the_process_is_patched() -> None:
    """No import or capture changes builtins, modules, code of functions, the collector, or other threads' profilers."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["looks"] >= 4, "nothing was seen during a capture"
    assert (report["import"], report["during"], report["after"]) == ([], [], [])
