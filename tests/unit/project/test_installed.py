"""What users see who have installed relex: from the wheel, or editable; wherever they start Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest
from readme import ROOT

from relex.tools.opt.new_pass import new_pass
from relex.tools.shell.diagnostics import ToolError

if int(version("setuptools").partition(".")[0]) < 77:
    pytest.skip("needs setuptools 77", allow_module_level=True)

IGNORED = (".*", "__pycache__", "build", "dist", "*.egg-info")
NOT_INSTALLED = ("tests", "benchmarks")


def ignored(folder: str, names: list[str]) -> set[str]:
    """What of a folder of the checkout a clone goes without."""
    found = shutil.ignore_patterns(*IGNORED)(folder, names)
    if Path(folder) == ROOT / "docs":
        return {*names} - {"lessons"}
    return found | {*NOT_INSTALLED} if Path(folder) == ROOT else found


class Installation:
    """An environment with relex, its sources in a clone that is called `relex`, and a folder to work in."""

    def __init__(self, folder: Path, *, editable: bool):
        self.home = folder
        self.clone = folder / "relex"
        self.editable = editable
        shutil.copytree(ROOT, self.clone, ignore=ignored)
        environment = folder / "environment"
        run([sys.executable, "-m", "venv", "--without-pip", str(environment)])
        self.scripts = environment / "bin"
        # What relex stands on comes from the environment of the tests.
        packages = {"base": str(environment), "platbase": str(environment)}
        site = Path(sysconfig.get_path("purelib", vars=packages))
        (site / "others.pth").write_text(sysconfig.get_path("purelib"))
        pip_install(self.python, *(["--editable"] if editable else []), str(self.clone))
        self.source = self.clone / "api" if editable else site / "relex"

    @property
    def python(self) -> Path:
        return self.scripts / "python"

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """The output of one of the programs of the environment, in the parent of the clone by default."""
        path = os.pathsep.join([str(self.scripts), os.environ["PATH"]])
        return run([str(self.scripts / command[0]), *command[1:]], cwd or self.home, PATH=path)


def pip_install(python: Path, *what: str) -> None:
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    run([sys.executable, "-m", "pip", "--python", str(python), "install", *options, *what])


def run(command: list[str], cwd: Path | None = None, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RELEX"))}
    process = subprocess.run(
        command, cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return process.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("wheel"), editable=False)


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("editable"), editable=True)


@pytest.fixture(params=["wheel", "editable"])
def installation(request: pytest.FixtureRequest) -> Installation:
    return request.getfixturevalue(request.param)


PROGRAM = """
import relex, relex.passes.graph.fuse_ops
text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }"
assert str(relex.parse(text).body.block.first_op.sym_name) == '"main"'
def test_place():
    assert relex.__file__ == FILE, relex.__file__
test_place()
"""


@pytest.mark.sampled
@pytest.mark.parametrize("start", ["-c", "script", "module", "pytest"])
def test_in_the_parent_of_a_clone(start: str, installation: Installation):
    assert (installation.home / "relex" / "passes").is_dir()
    code = PROGRAM.replace("FILE", repr(str(installation.source / "__init__.py")))
    script = installation.home / "test_program.py"
    script.write_text(code)
    commands = {
        "-c": ["-c", code],
        "script": [str(script)],
        "module": ["-m", "test_program"],
        "pytest": ["-m", "pytest", "-p", "no:cacheprovider", str(script)],
    }
    installation.run("python", *commands[start])


@pytest.mark.parametrize("command", ["relex-opt", "relex-run", "python -m relex"])
def test_version(command: str, installation: Installation):
    pattern = rf"relex {re.escape(version('relex-compiler'))}, xdsl [\d.]+, llvmlite [\d.]+\n"
    assert re.fullmatch(pattern, installation.run(*command.split(), "--version"))


def test_module(installation: Installation):
    """`python -m relex` is the tools."""
    assert "python -m relex opt ..." in installation.run("python", "-m", "relex")
    arguments = [str(ROOT / "examples" / "digits" / "mlp.mlir"), "-p", "legalize-ops"]
    by_name = installation.run("relex-opt", *arguments)
    assert "tir.prim_func" in by_name
    assert installation.run("python", "-m", "relex", "opt", *arguments) == by_name


def test_copy_of_the_examples(installation: Installation, tmp_path: Path):
    installation.run("python", "-m", "relex", "examples", cwd=tmp_path)
    left_out = {"__init__.py", "py.typed"}
    tracked = run(["git", "ls-files", "examples"], ROOT).splitlines()
    expected = {file for file in tracked if file.removeprefix("examples/") not in left_out}
    assert {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()} == expected
    again = subprocess.run([str(installation.python), "-m", "relex", "examples"], cwd=tmp_path, capture_output=True)
    assert (again.returncode, again.stderr) == (1, b"relex examples: error: 'examples' exists already\n")


def test_new_pass(installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`relex-opt --new-pass` writes a package whose tests pass, before it is installed and after."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    written = installation.run("relex-opt", "--new-pass", "hoist-bias", cwd=tmp_path).split("\n\n")[0].splitlines()
    folder = tmp_path / "hoist-bias"
    assert {str(file.relative_to(tmp_path)) for file in folder.rglob("*") if file.is_file()} == {*written}
    assert not any("my-rule" in text or "my_rule" in text or "MyRule" in text for text in map(read, written_in(folder)))

    if not installation.editable:
        installation.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder)
        installation.run("python", "-m", "lit.main", "-q", "tests", cwd=folder)
        # pyright does not execute the finder of an editable install.
        pytest.importorskip("pyright")
        installation.run("python", "-m", "pyright", "--pythonpath", str(installation.python), cwd=folder)
        pip_install(installation.python, str(folder))
        assert "hoist-bias" in installation.run("relex-opt", "--list-passes", cwd=tmp_path)
        installation.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder)


def written_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.suffix in (".md", ".mlir", ".py", ".toml")]


def read(file: Path) -> str:
    return f"{file} {file.read_text()}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cse", "a pass 'cse' exists already"),
        ("Hoist", "expected a name such as 'hoist-bias' for a pass, found 'Hoist'"),
        ("hoist-", "expected a name such as 'hoist-bias' for a pass, found 'hoist-'"),
        ("../hoist", "expected a name such as 'hoist-bias' for a pass, found '../hoist'"),
        ("lambda", "expected a name such as 'hoist-bias' for a pass, found 'lambda'"),
        ("numpy", "a module 'numpy' exists already; choose another name for the pass"),
        ("there", "'there' exists already"),
    ],
)
def test_names_that_a_new_pass_cannot_have(name: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    with pytest.raises(ToolError, match=re.escape(expected)):
        new_pass(name, {"cse"})
    assert [file.name for file in tmp_path.iterdir()] == ["there"]
