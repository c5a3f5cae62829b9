"""`certify` of exported programs, loaded ones among them."""

from __future__ import annotations

import io

import torch
from torch.export import Dim, export

from frontends.pytorch import certify
from tests.frontends.pytorch.certificates.compilers import One


def reloaded(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def test_what_a_loaded_program_states() -> None:
    """A program that was exported and loaded again is certified as well."""

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor, others: dict[str, torch.Tensor]) -> torch.Tensor:
            y = others["y"]
            if x.shape[0] <= 64 and y.shape[0] % 4 == 0:
                x = x * 2
            return x.sum() + y.sum()

    dynamic = {0: Dim.AUTO, 1: Dim.AUTO}
    program = export(Net(), (torch.ones(8, 3), {"y": torch.ones(4, 5)}), dynamic_shapes=(dynamic, {"y": dynamic}))
    for made in (program, reloaded(program)):
        sizes = {"x.0": (2, 64), "x.1": (2, 9), "others_y.0": (4, 64, 4), "others_y.1": (2, 9)}
        assert certify(made, sizes).proven
        found = certify(made, sizes | {"x.0": (2, 65), "others_y.0": (4, 64)})
        sizes_found = [each.size for each in found.findings]
        assert {"x.shape[0]": 65} in sizes_found and len(sizes_found) == 2


class Added(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.view(-1, 4).sum(1)[1:] + y


def test_derived_dimensions() -> None:
    """`n` of a dimension `4*n` is whatever the size makes it: a program is not refuted by an `n` of another size."""
    n = Dim("n", min=2, max=100)
    rows = export(One(lambda x: x.view(-1, 4).sum(1)), (torch.ones(8),), dynamic_shapes=({0: 4 * n},))
    both = export(Added(), (torch.ones(12), torch.ones(2)), dynamic_shapes=({0: 4 * n + 4}, {0: n}))
    for program in (rows, reloaded(rows)):
        assert certify(program, {"x.0": (8, 400, 4)}).proven
        found = certify(program, {"x.0": (4, 404, 4)})
        assert {each.size["x.shape[0]"] for each in (*found.findings, *found.implied)} == {4, 404}
        (finding,) = certify(program, {"x.0": (8, 400, 2)}).findings
        assert finding.size == {"x.shape[0]": 10}
    for program in (both, reloaded(both)):
        assert certify(program, {"y.0": (2, 100), "x.0": (12, 404)}, ["x.shape[0] == 4 * y.shape[0] + 4"]).proven
        assert certify(program, {"y.0": (2, 100), "x.0": (12, 404, 4)}).status == "refuted"


def test_a_program_without_its_guards() -> None:
    """Guards of a loaded program that cannot be read are never counted as holding."""
    n = Dim("n", min=2, max=100)
    loaded = reloaded(export(One(lambda x: x * 2), (torch.ones(8),), dynamic_shapes=({0: 4 * n},)))
    assert certify(loaded, {"x.0": (8, 400, 4)}).proven
    loaded._guards_code = None
    assert certify(loaded, {"x.0": (8, 400, 4)}).status == "unknown"
