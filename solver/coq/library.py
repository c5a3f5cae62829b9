"""The lemmas behind the rules of proof, `symshape.v`, and files that repeat those that they use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

BLOCK: Final = re.compile(r"^(?:Lemma|Definition|Fixpoint) (\w+)")
HEAD: Final = """Require Import ZArith Lia List Bool.
Open Scope Z_scope.
Notation by_ring := ltac:(cbv beta; ring) (only parsing).
Notation by_lia := ltac:(clear; cbv beta; intros; lia) (only parsing).
Notation by_division := ltac:(clear; cbv beta; intros; Z.div_mod_to_equations; lia) (only parsing).
Ltac closed :=
  lazymatch goal with
  | |- _ /\\ _ => split; closed
  | |- _ \\/ _ => first [solve [left; closed] | solve [right; closed]]
  | |- _ -> _ => let H := fresh in intro H; first [solve [closed] | exfalso; refuted H]
  | |- _ => first [reflexivity | discriminate | exact I]
  end
with refuted H :=
  lazymatch type of H with
  | _ /\\ _ => let A := fresh in let B := fresh in destruct H as [A B]; first [solve [refuted A] | refuted B]
  | _ \\/ _ => destruct H as [H | H]; refuted H
  | _ -> _ => apply H; closed
  | _ => first [discriminate | contradiction]
  end."""


@cache
def library() -> dict[str, str]:
    """The definitions and lemmas by name, in order: blocks between empty lines."""
    text = (files("solver.coq") / "symshape.v").read_text(encoding="utf-8")
    found = [(BLOCK.match(block), block.strip()) for block in text.split("\n\n")]
    return {match[1]: block for match, block in found if match is not None}


def used_lemmas(text: str) -> list[str]:
    """The blocks of the library that a text uses, and those that they use, in order."""
    blocks = library()
    wanted: set[str] = set()
    waiting = [text]
    while waiting:
        for word in set(re.findall(r"\w+", waiting.pop())):
            if word in blocks and word not in wanted:
                wanted.add(word)
                waiting.append(blocks[word])
    return [block for name, block in blocks.items() if name in wanted]


def standalone(theorems: Iterable[str]) -> str:
    """A file of its own: what the theorems use of the library, then the theorems."""
    body = "\n\n".join(theorems)
    return "\n\n".join([HEAD, *used_lemmas(body), body]) + "\n"
