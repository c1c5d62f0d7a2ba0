"""A package beside relex, installed: its dialect, lowering and pass are in the tools of relex and of xDSL."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "out_of_tree"

if int(version("setuptools").partition(".")[0]) < 77:
    pytest.skip("needs setuptools 77", allow_module_level=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed in. A build leaves files behind, so it is built from a copy."""
    folder = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    install = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(source)]
    subprocess.run(install, capture_output=True, text=True, check=True)
    return folder


def run(site: Path, tool: str, *arguments: str, program: str = "program.mlir") -> str:
    command = [str(Path(sys.executable).parent / tool), str(EXAMPLE / program), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    process = subprocess.run(command, env=environment, cwd=site, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return process.stdout


@pytest.mark.parametrize("tool", ["relex-opt", "xdsl-opt"])
def test_pass_and_lowering(tool: str, site: Path) -> None:
    fused = run(site, tool, "-p", "fuse-hard-swish")
    assert fused.count("mobile.hard_swish") == 2
    assert "relex.clip" not in fused
    lowered = run(site, tool, "-p", "fuse-hard-swish,legalize-ops")
    assert lowered.count("relex.call_tir @hard_swish(") == 2
    assert lowered.count("tir.prim_func") == 1


def test_without_the_package() -> None:
    command = [str(Path(sys.executable).parent / "relex-opt"), str(EXAMPLE / "program.mlir")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert "mobile.hard_swish" in process.stderr


def test_numbers(site: Path) -> None:
    """Compiled, both forms are what the operator means."""
    program = """
import numpy as np
from relex_mobile.dialect import HardSwishOp
from relex_mobile.fuse_hard_swish import FuseHardSwishPass
from relex_mobile.universe import UNIVERSE

from relex.dialects import make_context, parse_module
from relex.runtime import build, interpret

context = make_context()
context.register_dialect("mobile", UNIVERSE.all_dialects["mobile"])
module = parse_module(open("PROGRAM").read(), context=context)
x = np.array([[0.0, -0.0, -3.0, -4.0, 2.5], [1e30, np.inf, -np.inf, np.nan, -2.999]], np.float32)
expected = interpret(module)["main"](x)
for m in (module, FuseHardSwishPass()(module)):
    np.testing.assert_array_equal(interpret(m)["main"](x), expected)
    np.testing.assert_array_equal(build(m)["main"](x), expected)
assert sum(isinstance(op, HardSwishOp) for op in FuseHardSwishPass()(module).walk()) == 2
"""
    code = program.replace("PROGRAM", str(EXAMPLE / "program.mlir"))
    environment = {**os.environ, "PYTHONPATH": str(site)}
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
