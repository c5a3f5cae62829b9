"""The testing kit on other projects' shape rules: where they differ from the real kernels.

Each survey goes through the operators of one library, one line a operator, appended to `.findings/<survey>.jsonl`;
existing lines are not recomputed. `seen.jsonl` beside this file has the findings of the run on `docs/findings.md`.
"""
