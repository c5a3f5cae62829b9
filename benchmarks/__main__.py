"""Every benchmark, one after the other: `python -m benchmarks [--write] [--only growth,memory]`."""

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ORDER = (
    "entailment",
    "textbook",
    "evidence",
    "cores",
    "coq",
    "ablation",
    "growth",
    "families",
    "symints",
    "wide_deep",
    "guards",
    "rules",
    "memory",
    "sizes",
    "onnx_models",
    "calls",
    "launches",
    "tracing",
    "traced_models",
    "kernel_share",
    "ragged",
    "ragged_training",
    "ranks",
    "import_time",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put each table into RESULTS.md")
    parser.add_argument("--only", default=",".join(ORDER), help="some of them, with commas between")
    options = parser.parse_args()
    failed = []
    for name in options.only.split(","):
        if find_spec(f"benchmarks.{name}") is None:
            continue
        print(f"\n## {name}\n", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *["--write"] * options.write]
        if subprocess.run(command, cwd=Path(__file__).parent.parent, check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"these benchmarks failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
