"""A package beside relex, installed: its dialect, lowering and pass are in the tools of relex and of xDSL."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
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


def run_python(site: Path | str, code: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def run(site: Path, tool: str, *arguments: str, program: str = "program.mlir") -> str:
    command = [str(Path(sys.executable).parent / tool), str(EXAMPLE / program), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    process = subprocess.run(command, env=environment, cwd=site, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return process.stdout


@pytest.mark.parametrize("tool", ["relex-opt", "xdsl-opt"])
def test_pass_and_lowering(tool: str, site: Path) -> None:
    if tool == "relex-opt":
        fused = run(site, tool, "-p", "fuse-hard-swish")
        assert fused.count("mobile.hard_swish") == 2
        assert "relex.clip" not in fused
    lowered = run(site, tool, "-p", "fuse-hard-swish,legalize-ops")
    assert lowered.count("relex.call_tir @hard_swish(") == 2
    assert lowered.count("tir.prim_func") == 1


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("name", ["fuse_hard_swish.py", "lowering.py", "universe.py"])
@pytest.mark.parametrize("where", ["site", "checkout"])
def test_a_file_of_the_package_is_loaded(name: str, where: str, site: Path) -> None:
    """Nothing is entered twice: neither by the installed package, nor by a copy of it that is loaded instead."""
    file = (EXAMPLE if where == "checkout" else site) / "relex_mobile" / name
    lowered = run(site, "relex-opt", "--load-passes", str(file), "-p", "fuse-hard-swish,legalize-ops")
    assert lowered.count("relex.call_tir @hard_swish(") == 2


def test_the_package_is_loaded_from_its_files(site: Path) -> None:
    """It need not be installed then."""
    command = [str(Path(sys.executable).parent / "relex-run"), str(EXAMPLE / "program.mlir"), "--input", "x.npy"]
    np.save(site / "x.npy", np.zeros((2, 5), np.float32))
    loaded = ["--load-passes", str(EXAMPLE / "relex_mobile" / "universe.py")]
    process = subprocess.run([*command, *loaded], cwd=site, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")


def test_without_the_package() -> None:
    command = [str(Path(sys.executable).parent / "relex-opt"), str(EXAMPLE / "program.mlir")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert "mobile.hard_swish" in process.stderr


def test_numbers(site: Path) -> None:
    """Compiled, both forms are what the operator means. The text alone says which package is needed."""
    code = """
import sys
from pathlib import Path
import numpy as np
from relex.dialects import parse_module
from relex.reference import interpret
from relex.runtime import build

text = Path(sys.argv[1]).read_text()
module = parse_module(text)
from relex_mobile.dialect import HardSwishOp
from relex_mobile.fuse_hard_swish import FuseHardSwishPass

x = np.array([[0.0, -0.0, -3.0, -4.0, 2.5], [1e30, np.inf, -np.inf, np.nan, -2.999]], np.float32)
expected = interpret(module)["main"](x)
for m in (module, text, FuseHardSwishPass()(module)):
    np.testing.assert_array_equal(interpret(m)["main"](x), expected)
    np.testing.assert_array_equal(build(m)["main"](x), expected)
assert sum(isinstance(op, HardSwishOp) for op in FuseHardSwishPass()(module).walk()) == 2
"""
    run_python(site, code, str(EXAMPLE / "program.mlir"))


FUSED = """
import re
import sys
from pathlib import Path

import numpy as np
from relex.dialects import Target, parse_module
from relex.lowering import RelexPipelinePass
from relex.passes import SetTargetPass
from relex.runtime import build

text, has_vectors = Path(sys.argv[1]).read_text(), sys.argv[2] == "vectors"
host = Target.host()
module = parse_module(text)
if not has_vectors:
    from relex.lowering.vectors.forms import SUBSTITUTES
    from relex_mobile.dialect import Clamp6Op

    del SUBSTITUTES[Clamp6Op]
avx2 = "+avx,+avx2,+fma"
for features, lanes in {avx2: 8, f"{avx2},+avx512f,+avx512bw,+avx512dq,+avx512vl": 16}.items():
    target = Target(host.triple, "", features)
    core = str(RelexPipelinePass(to="core")(SetTargetPass(target.triple, target.cpu, target.features)(module)))
    kinds = {line.rpartition(" : ")[2] for line in core.splitlines() if "mobile.clamp6" in line}
    assert kinds == {f"vector<{lanes}xf32>" if has_vectors else "f32"}, kinds
    assert f"vector<{lanes}xf32>" in core
    if not set(features.split(",")) <= set(host.features.split(",")):
        continue
    for m, n, k in ((17, 48, 64), (1, 1, 1), (3, 1000, 5), (0, 4, 2)):
        sizes = {"17": m, "48": n, "64": k}
        program = re.sub("[0-9]+(?=x)", lambda size: str(sizes[size[0]]), text)
        x, w = (np.random.default_rng(0).integers(-4, 5, s).astype(np.float32) for s in ((m, k), (n, k)))
        x[1:2, 0] = np.nan
        expected = np.clip(x @ w.T, 0, 6)
        for source in (program, parse_module(program)) if m == 17 else (program,):
            np.testing.assert_array_equal(build(source, target=target)["main"](x, w), expected)
"""


@pytest.mark.parametrize("forms", ["vectors", "scalars"])
def test_a_scalar_op_in_vectorized_loops(site: Path, forms: str) -> None:
    """For AVX2 and AVX-512, whether the package says what the op is on vectors or not."""
    run_python(site, FUSED, str(EXAMPLE / "fused.mlir"), forms)


def test_relex_run(site: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((17, 64), (48, 64)))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    out = tmp_path / "y.npy"
    inputs = ["--input", str(tmp_path / "x.npy"), "--input", str(tmp_path / "w.npy")]
    for level in ("native", "graph"):
        run(site, "relex-run", *inputs, "--level", level, "--output", str(out), program="fused.mlir")
        np.testing.assert_array_equal(np.load(out), np.clip(x @ w.T, 0, 6))


def test_who_does_not_use_the_package_does_not_import_it(site: Path) -> None:
    code = """
import sys
from relex.dialects import context, parse_module

parse_module("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { func.return %x : tensor<3xf32> }")
assert "importlib.metadata" not in sys.modules or not context._dialects_of_others.cache_info().misses
assert not any(name.startswith("relex_mobile") for name in sys.modules)
try:
    parse_module('"unknown.op"() : () -> ()')
except Exception as e:
    print(e)
# Names are known then, and nothing else is.
assert "relex_mobile.universe" in sys.modules
assert "relex_mobile.dialect" not in sys.modules
"""
    assert "operation unknown.op is not registered" in run_python(site, code)


@pytest.mark.parametrize(
    ("universe", "expected"),
    [
        ("raise ValueError('broken')", "package 'other' cannot be used: ValueError: broken"),
        ("UNIVERSE = 7", None),
        (
            "from relex_mobile.universe import UNIVERSE",
            "expected one package with a dialect 'mobile', found '(other|relex-mobile)' and '(other|relex-mobile)'",
        ),
    ],
)
def test_packages_that_are_broken(site: Path, tmp_path: Path, universe: str, expected: str | None) -> None:
    (tmp_path / "other.py").write_text(universe)
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[xdsl.universe]\nother = other:UNIVERSE\n")
    code = """
import sys, warnings
from pathlib import Path
from relex.dialects import CompileError, parse_module

with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    try:
        parse_module(Path(sys.argv[1]).read_text())
    except CompileError as e:
        print(e)
print(*(w.message for w in found))
"""
    text = run_python(f"{site}{os.pathsep}{tmp_path}", code, str(EXAMPLE / "program.mlir"))
    assert re.search(expected, text) if expected else text == "\n"
