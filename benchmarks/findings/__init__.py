"""The testing kit over other people's shape rules: where they say otherwise than the real kernels.

Each survey goes through the operators of one library, one line a operator, appended to `.findings/<survey>.jsonl`;
what stands there already is not done again. `seen.jsonl` beside this file are the findings of the run that
`docs/findings.md` tells of.
"""
