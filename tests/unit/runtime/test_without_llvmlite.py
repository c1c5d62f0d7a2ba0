"""Where llvmlite cannot be installed, as in a browser, everything works but native code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import relex

DOCS = Path(__file__).parents[3] / "docs"

WITHOUT = "import sys; sys.modules.update(dict.fromkeys(('llvmlite', 'cffi')))"
"""An import of a module that is None fails."""

PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = relex.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relex.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
"""

LEVELS = """
import numpy as np
import relex
from relex.lowering import ConvertTirToScfPass, LegalizeOpsPass, LowerCallTirPass
from relex.passes import FuseOpsPass, FuseTirPass

x, w = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((4, 3), np.float32)
module = FuseOpsPass()(relex.parse(sys.argv[1]))
print(relex.interpret(module)["main"](x, w).tolist())
module = FuseTirPass()(LegalizeOpsPass()(module))
print(relex.interpret(module)["main"](x, w).tolist())
module = ConvertTirToScfPass()(LowerCallTirPass()(module))
relex.interpret(module)["main"](x, w, y := np.empty((2, 4), np.float32))
print(y.tolist())
"""

ASKED = """
import relex
from relex.dialects.errors import MissingPackageError
from relex.tools.opt import relex_opt

for ask in (lambda: relex.build(sys.argv[1]), lambda: relex.load(sys.argv[2])):
    try:
        ask()
    except ImportError as error:
        assert type(error) is MissingPackageError
        print(error)
print(relex_opt.main([sys.argv[3], "--check-each", "-p", "legalize-ops"]))
"""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"{WITHOUT}\n{code}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_tour() -> None:
    page = (DOCS / "tour.md").read_text()
    blocks: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    process = run("".join(text for language, text in blocks if language == "python"))
    assert process.returncode == 0, process.stderr
    assert process.stdout == "".join(text for language, text in blocks if language in ("text", "mlir"))


def test_programs_are_lowered_and_interpreted() -> None:
    process = run(LEVELS, PROGRAM)
    assert process.returncode == 0, process.stderr
    assert process.stdout == 3 * "[[3.0, 3.0, 3.0, 3.0], [12.0, 12.0, 12.0, 12.0]]\n"


def test_native_code_is_refused(tmp_path: Path) -> None:
    saved, text = tmp_path / "saved.relex", tmp_path / "program.mlir"
    relex.build(PROGRAM).save(saved)
    text.write_text(PROGRAM)
    process = run(ASKED, PROGRAM, str(saved), str(text))
    assert process.returncode == 0, process.stderr
    expected = r"native code needs the package llvmlite, which cannot be imported \(.*\); relex.interpret runs .*\n"
    assert re.fullmatch(f"{expected}.*saved.relex: {expected}1\n", process.stdout), process.stdout
    assert re.fullmatch(f"relex-opt: error: {expected}", process.stderr), process.stderr


def test_tools_list_all_passes() -> None:
    process = run("from relex.tools.opt import relex_opt; relex_opt.main(['--list-passes'])")
    assert process.returncode == 0, process.stderr
    assert "convert-to-llvm" in process.stdout
