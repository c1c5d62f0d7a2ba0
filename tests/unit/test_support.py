"""What --report-unsupported says of programs is what the pipeline does with them."""

import re
from pathlib import Path

import pytest
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from relex.dialects import CompileError, parse_module
from relex.lowering.conversion.unsupported import find_unsupported
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.passes import RemoveUnusedPass, run_pass

LIT = Path(__file__).parents[1] / "lit"


def programs() -> list[str]:
    """The programs of the lit tests that are well-formed."""
    texts = [
        text
        for file in sorted(LIT.rglob("*.mlir"))
        for text in re.split(r"^// -----$", file.read_text(), flags=re.MULTILINE)
    ]
    return [text for text in texts if is_well_formed(text)]


def is_well_formed(text: str) -> bool:
    try:
        return bool(list(parse_module(text).ops))
    except CompileError:
        return False


@pytest.mark.parametrize("text", programs())
def test_the_report_agrees_with_the_pipeline(text: str):
    # On the way down, what nobody uses may go before anybody refuses it.
    module = run_pass(RemoveUnusedPass(), run_pass(DeadCodeElimination(), parse_module(text)))
    before = str(module)
    expected = find_unsupported(module, RelexPipelinePass().steps())
    assert str(module) == before
    try:
        RelexPipelinePass()(module)
    except CompileError as e:
        found = {(d.line, d.column) for d in e.diagnostics}
        assert found & {(d.line, d.column) for d in expected}
    else:
        assert expected == []
