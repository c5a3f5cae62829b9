"""Witnesses as existence theorems, proven by computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from solver.coq.terms import Names, argument, comment, integer
from solver.errors import NotExported
from solver.terms.expr import Atom, evaluate_atoms
from solver.terms.prop import Prop


def existence(
    title: str, names: Names, stated: Sequence[tuple[Prop | str, str]], values: Mapping[Atom, int]
) -> str:
    """An existence theorem: these values satisfy every proposition, or what Coq's text says.

    A comment names each.
    """
    texts = [names.proposition(p) if isinstance(p, Prop) else p for p, _ in stated]
    for atom in names.made:
        if atom.kind == "function" and not atom.operation.coq:
            raise NotExported("evaluation", f"Coq cannot compute {atom.name} at given sizes")
    full = {**evaluate_atoms([atom for atom in names.made if atom.kind != "symbol"], values)}
    for atom in names.made:
        if atom.definition is not None:
            full[atom] = atom.definition.evaluate(values)
    for atom in names.variables:
        if atom.kind == "symbol" and atom.definition is None:
            full[atom] = values.get(atom, 1)  # a symbol that cancels has no value
    atoms = list(names.variables)
    lines = [f"Theorem {title} :"]
    if atoms:
        lines.append(f"  exists {' '.join([names.variable(atom) for atom in atoms])} : Z,")
    rows = [(f"{names.variable(atom)} = {names.definition(atom)}", str(atom), ["reflexivity."]) for atom in names.made]
    rows += [(argument(text), note, _steps(p, full)) for text, (p, note) in zip(texts, stated, strict=True)]
    for place, (text, note, _) in enumerate(rows):
        end = " /\\" if place < len(rows) - 1 else "."
        lines.append(f"  {text}{end}  {comment(note)}")
    lines.append("Proof.")
    if atoms:
        lines.append(f"exists {', '.join([integer(full[atom]) for atom in atoms])}.")
    for place, (_, _, steps) in enumerate(rows):
        if place < len(rows) - 1:
            lines.append("split.")
        lines.append(f"{{ {' '.join(steps)} }}")
    return "\n".join([*lines, "Qed."])


def _steps(p: Prop | str, values: Mapping[Atom, int]) -> list[str]:
    """Tactics that prove a proposition without variables by computation; of a disjunction, its first true part."""
    if isinstance(p, str):
        return ["vm_compute. closed."]
    match p.kind:
        case "and":
            steps: list[str] = []
            for part in p.parts[:-1]:
                steps += ["split.", "{", *_steps(part, values), "}"]
            return [*steps, *_steps(p.parts[-1], values)]
        case "or":
            place = next((i for i, part in enumerate(p.parts) if part.at(values)), 0)
            sides = ["right."] * place + (["left."] if place < len(p.parts) - 1 else [])
            return [*sides, *_steps(p.parts[place], values)]
        case "true":
            return ["exact I."]
        case "eq":
            return ["reflexivity."]
        case _:
            return ["vm_compute. discriminate."]
