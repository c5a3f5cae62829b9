"""The parts of an environment, each of which can be understood and tested alone.

- `symbols`: what names stand for;
- `reader`: text and sizes as expressions and propositions;
- `ledger`: commitments, the facts that they make, rollback; `trail`, what goes back with it;
- `questions`: asks the solver, and keeps the answers that still stand;
- `declaring`, `commands`, `scopes`, `joining`, `loop_bounds`: what goes on between these;
- `access`: threads; `memory`: garbage collection; `hints`: the sizes of this run.

`shapes.env`, `shapes.declaring`, `shapes.commitments` and `shapes.asking` are the facade over them.
"""
