"""Guards as torch prints them, read and certified."""

from pathlib import Path

import pytest
import torch

from frontends.pytorch import certify
from shapes.certification.certifying import certify as judged
from shapes.certification.torch_logs import read_log
from tests.frontends.pytorch.certificates.printed_logs import counted, log_of
from tests.frontends.pytorch.differential.programs import PROGRAMS

NAMES = sorted(PROGRAMS)[::160]


@pytest.mark.parametrize("name", NAMES)
def test_guards_that_torch_prints_are_understood(name: str) -> None:
    understood, faults = counted(read_log(log_of(name, "guards,recompiles,dynamic").splitlines()))
    assert understood or not faults
    # a compilation that torch gave up has no list of guards
    given_up = sum(count for message, count in faults.items() if "/" in message)
    assert faults.total() - given_up <= 0.02 * understood, faults


def test_the_log_of_a_function_is_certified_like_the_function(tmp_path: Path) -> None:
    """The findings in a log are those at which torch compiles again."""
    from tests.frontends.pytorch.certificates.printed_logs import printed

    torch.compiler.reset()
    with printed("guards") as stream:
        compiled = torch.compile(lambda x: x * 2 if x.shape[0] <= 64 else x, backend="eager", dynamic=True)
        compiled(torch.ones(8, 3))
    variants = read_log(stream.getvalue().splitlines())
    sizes = {"x.shape[0]": (2, 64), "x.shape[1]": (2, None)}
    assert judged(variants, sizes).proven and certify(compiled, sizes).proven
    (finding,) = judged(variants, {**sizes, "x.shape[0]": (2, 4096)}).findings
    assert finding.size["x.shape[0]"] == 65


def test_an_exported_archive_is_read_like_the_program(tmp_path: Path) -> None:
    class Halved(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(-1, 2).sum(1)

    dims = {"x": {0: 2 * torch.export.Dim("n", min=2, max=100)}}
    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(Halved(), (torch.ones(8),), dynamic_shapes=dims), path)
    assert certify(path, {"x.shape[0]": (4, 200, 2)}).proven
    assert certify(path, {"x.shape[0]": (4, 400, 2)}).status == "refuted"
