"""Random programs as Python text: statements of tensors, sizes, containers, control flow, changes, random numbers.

    >>> print(written(3).partition("\\n")[0])
    def make():

A program is a function of a seed. It has matrices of n rows and m columns, rows, columns and numbers as variables by
their kinds, so that most statements are right; one that is wrong raises in eager torch, which is compared as well.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Final

import torch

from tests.frontends.pytorch.differential.cases import Case

MATRIX, ROW, COLUMN, SCALAR, SIZE, LIST = "matrix", "row", "column", "scalar", "size", "list"

NEW: Final = {
    MATRIX: """
        {matrix} * {matrix} | {matrix} + {row} | {matrix} - {column}[:, None] | {matrix} * {scalar} | {matrix}.tanh()
        {matrix}.softmax(-1) | {matrix}.cumsum(0) | {matrix}.flip(1) | {matrix}.roll(1, 0) | {matrix}.clone()
        torch.where({matrix} > 0, {matrix}, {row}) | {matrix}.clamp(-1, 1) | {matrix} / ({matrix}.abs() + 1)
        {matrix}.reshape(-1).view({matrix}.shape) | {matrix}.t().contiguous().t() | {matrix} * {size}
        torch.stack([{row}] * n) | torch.cat([{matrix}[:1], {matrix}[1:]]) | {matrix}.masked_fill({matrix} > 1, 0.5)
        ({matrix} @ {matrix}.t()) @ {matrix} | {matrix}.detach() + {matrix} | {matrix}.expand(n, m) | -{matrix}
        {column}[:, None] * {row} | {matrix}.sort(1)[0] | {matrix}.gather(1, {matrix}.argsort(1)) | {matrix}.relu()
        {matrix}.index_select(0, {matrix}.argmax(0)) | {matrix}.sub({matrix}, alpha=0.5) | {matrix}.double().float()
        torch.nn.functional.dropout({matrix}, 0.5) | {matrix} + torch.rand_like({matrix}) | helper({matrix}, {row})
        torch.nn.functional.layer_norm({matrix}, (m,)) | {matrix}[:] | {matrix}.view(n, m) | {matrix}.float() ** 2
        torch.cat([{matrix}[n // 2:], {matrix}[:n // 2]]) | torch.addcmul({matrix}, {matrix}, {matrix})
        torch.add({matrix}.detach(), 1, out=torch.zeros(n, m)) | torch.outer({column}, {row}) | {matrix}.tril()
        torch.nn.functional.pad({matrix}, (1, {size} % 3))[:, 1:m + 1] | {matrix}.repeat_interleave(2, dim=0)[:n]
        torch.linalg.vector_norm({matrix}, dim=0) + {matrix} | torch.einsum("ij,jk->ik", {matrix}, {row}.diag())
        torch.arange(n * m, dtype={matrix}.dtype).view(n, m) + {matrix} | {matrix}.unsqueeze(1).squeeze(1)
        {matrix}.clone().transpose_(0, 1).t() | {matrix}.unflatten(1, (1, -1)).flatten(0, 1)
        {matrix}.movedim(0, 1).t() | {matrix}.repeat(2, 1)[::2]
        """,
    ROW: """
        {matrix}.sum(0) | {matrix}[0] | {matrix}[-1] | {row} * 2 | {row}.exp() | {matrix}.amax(0) | {row} + {scalar}
        {row}.softmax(0) | {matrix}.mean(0) | {matrix}[{size} % n] | {row}.cumsum(0) | {row} + torch.arange(m)
        {matrix}.t() @ {column} | {row}.flip(0) | torch.maximum({row}, {row}.roll(1)) | sum({list}) * {row}
        {matrix}.unfold(0, 2, 1).sum((0, 2)) | {matrix}.split(2)[-1].sum(0) | {matrix}.chunk(2)[0].prod(0)
        {matrix}[{column} > 0].sum(0) | torch.nn.functional.linear({row}, {matrix}) @ {matrix} | {matrix}.max(0).values
        torch.ones(m) + {row} | {row}.new_zeros(m) - {row} | {matrix}.unbind(0)[0] | {row}.where({row} > 0, {scalar})
        """,
    COLUMN: """
        {matrix}.sum(1) | {matrix}[:, 0] | {matrix}[:, -1] | {column}.sigmoid() | {matrix} @ {row}
        {matrix}.norm(dim=1) | {matrix}.logsumexp(1) | {column} - {scalar} | {column} * n
        {matrix}.var(1, unbiased=False) | {column}.neg()
        torch.stack([each.sum() for each in {matrix}]) | {matrix}.argmax(1).float() | ({matrix} > 0).sum(1) * 0.5
        """,
    SCALAR: """
        {matrix}.sum() | {row}.mean() | {column}.max() | {scalar} * 0.5 | {scalar} + 1 | {row}[0] | {matrix}[0, 0]
        {matrix}.diagonal().sum() | {matrix}[{matrix} > 0].sum() | {scalar} * torch.nonzero({row} > 0).shape[0]
        {matrix}.masked_select({matrix} < 1).mean() | {row}[:torch.sym_min(n, m)].sum() | {column}[1:].norm()
        {matrix}.narrow(1, 0, (m + 1) // 2).sum() | {matrix}[..., ::2].amax() | {scalar} * n**0.5 / (m + 1)
        {row} @ {row} | {scalar}.abs() | torch.tensor(0.25) | {matrix}.numel() * {scalar} | {scalar} * {size}
        """,
    SIZE: """
        n | m | n + m | n * 2 - 1 | {size} // 2 | {size} % 3 | max(n, m) | min({size}, 5) | len({matrix})
        {matrix}.size(1) | {matrix}.numel() // m | {size} + 1 | abs(n - m) | len({list}) | int(n / 2) | 3
        {matrix}.dim() | -{size}
        """,
    LIST: """
        [{scalar}, {scalar}] | [each.sum() for each in {matrix}] | list({row}) | {list} + [{scalar}] | {list}[:2]
        [{scalar} * number for number in range(3)] | sorted({list}, key=lambda each: each.dim()) | {list}[::-1]
        """,
}
"""Expressions that make a value of each kind."""

CHANGES: Final = """
    {matrix}.add_(1) | {matrix}.mul_({row}) | {matrix}[0] = {row} | {matrix}[:, 0] = {scalar}
    {matrix}[{matrix} > 1] = 0 | {row}.mul_(0.5) | {matrix}[0].add_({row}) | {matrix}.t().sub_(1)
    {list}.append({scalar})
    {list}.insert(0, {scalar}) | {column}.clamp_(min=-1) | {matrix}.copy_({matrix}.flip(0)) | {list}.reverse()
    {matrix}.zero_()
    {matrix}.view(-1)[1:].neg_() | {matrix}.diagonal().mul_(0.5) | {matrix}[{column} > 0] = {row} * 2
    {matrix}.masked_fill_({matrix} > 0, 0.125) | {matrix}[:n // 2] += 1 | {column}.copy_({matrix}[:, 0])
    {matrix}[1:] += {row} | {row}[{size} % m] = 2.0 | {matrix} *= 0.5 | {list} = {list} * 2 | {row} = -{row}
    {size} += 1
    """

EFFECTS: Final = """
    state["calls"] += 1 | seen.append({size}) | table["last"] = {scalar} | print({size}, "rows") | seen.append("text")
    """

CONDITIONS: Final = """
    n > 3 | m % 2 == 0 | n < m | {size} > 2 | {matrix}.shape[0] != m | len({list}) > 1 | n * m > 12 | {size} == {size}
    not {matrix}.requires_grad | {matrix}.is_contiguous() | n in (3, 5) | {matrix}.dim() == 2
    """

BY_DATA: Final = """
    {scalar} > 0 | bool(({matrix} > 0).any()) | {row}[0] < {scalar} | float({scalar}) > 1
    """

BLOCKS: Final = """
    if {condition} | for step in range({small}) | with torch.no_grad() | while {size} > 100 | try
    for step in range({size} % 4)
    """


def is_stateful(seed: int) -> bool:
    """Return True if the program of this number changes state that outlives a call, and branches on data."""
    return seed % 3 == 0


def options(text: str) -> list[str]:
    """The templates of a table."""
    return [option.strip() for line in text.splitlines() for option in line.split("|") if option.strip()]


class Writer:
    """Writes one program. Values of `names` exist wherever the writer stands."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.effects = is_stateful(seed)
        self.lines: list[str] = []
        self.names: dict[str, list[str]] = {kind: [] for kind in NEW}
        self.names.update({MATRIX: ["x"], ROW: ["y"], SIZE: ["n", "m"]})
        self.made = 0

    def filled(self, template: str) -> str:
        """The template with variables in the place of their kinds; what has none yet is made first."""
        while "{" in template:
            start, end = template.index("{"), template.index("}")
            kind = template[start + 1 : end]
            if kind == "small":
                word = str(self.choose.randint(1, 3))
            elif kind == "condition":
                word = self.filled(self.choose.choice(options(CONDITIONS + BY_DATA * self.effects)))
            else:
                word = self.choose.choice(self.names[kind][-4:])
            template = template[:start] + word + template[end + 1 :]
        return template

    def new(self, kind: str, depth: int) -> None:
        expression = self.filled(self.choose.choice(options(NEW[kind])))
        if depth and self.choose.random() < 0.7:
            # inside of a block another value takes a name that exists everywhere
            self.line(f"{self.choose.choice(self.names[kind])} = {expression}", depth)
            return
        self.made += 1
        name = f"{kind[0]}{self.made}"
        self.line(f"{name} = {expression}", depth)
        if not depth:
            self.names[kind].append(name)

    def line(self, text: str, depth: int) -> None:
        self.lines.append("    " * (depth + 2) + text)

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            kind = self.choose.random()
            if kind < 0.6:
                wanted = self.choose.choices([MATRIX, ROW, COLUMN, SCALAR, SIZE, LIST], [5, 3, 2, 2, 2, 1])[0]
                self.new(wanted, depth)
            elif kind < 0.8:
                changes = options(EFFECTS if self.effects and self.choose.random() < 0.3 else CHANGES)
                self.line(self.filled(self.choose.choice(changes)), depth)
            elif depth < 2:
                self.block(depth)

    def block(self, depth: int) -> None:
        head = self.filled(self.choose.choice(options(BLOCKS)))
        self.line(head + ":", depth)
        self.line("pass", depth + 1)
        self.statements(self.choose.randint(1, 3), depth + 1)
        if head == "try":
            self.line(self.choose.choice(["except RuntimeError:", "finally:"]), depth)
            self.line('seen.append("handled")' if self.effects else "pass", depth + 1)
        elif head.startswith("if") and self.choose.random() < 0.5:
            self.line("else:", depth)
            self.line("pass", depth + 1)
            self.statements(self.choose.randint(1, 2), depth + 1)

    def program(self) -> str:
        factor = self.choose.choice(["state['calls']", "len(seen)", "3", "a.shape[0]"])
        self.lines = [
            "def make():",
            "    state, seen, table = {'calls': 0}, [], {}",
            "    def helper(a, b, by=2):",
            f"        return a * by + b * {factor}",
            "    def program(x, y):",
        ]
        self.line("n, m = x.shape", 0)
        for kind, expression in ((COLUMN, "x.sum(1)"), (SCALAR, "y.sum()"), (LIST, "[y.mean(), x.amax()]")):
            self.line(f"{kind[0]}0 = {expression}", 0)
            self.names[kind].append(f"{kind[0]}0")
        self.statements(self.choose.randint(4, 12), 0)
        last = [names[-1] for names in self.names.values() if names]
        self.line(f"return {', '.join(last)}, {{'all': {self.names[MATRIX][-1]} + 1}}", 0)
        self.lines.append("    return program, (state, seen)")
        return "\n".join(self.lines) + "\n"


def written(seed: int) -> str:
    """The text of the program of this number."""
    return Writer(seed).program()


def generated(seed: int) -> Case:
    """The program of this number, whose lines errors can show."""
    text = written(seed)
    name = f"<program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Callable[[], tuple[Callable[..., object], object]]] = {"torch": torch}
    exec(compile(text, name, "exec"), space)
    return Case(name, space["make"], ("n m", "m"), learned=seed % 2 == 0)
