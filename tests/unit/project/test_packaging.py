"""The wheel and the sdist hold every file of the packages and work away from the checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from distributions import FOLDERS, PROJECT, ROOT, build, copy_source

if int(version("setuptools").partition(".")[0]) < 77:
    pytest.skip("needs setuptools 77", allow_module_level=True)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the packages are built from, after some of it was run."""
    copy = copy_source(tmp_path_factory.mktemp("packaging") / "source")
    for folder in ("examples/digits", "tools/opt/template/tests"):
        (copy / folder / "__pycache__").mkdir()
        (copy / folder / "__pycache__" / "module.pyc").touch()
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    return build("wheel", source)


def _package_files() -> set[str]:
    """The files of the checkout that belong into the wheel, by their names there."""
    return {
        "/".join([*package.split("."), *file.relative_to(ROOT / folder).parts])
        for package, folder in FOLDERS.items()
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def _wheel_files(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_every_folder_of_packages_is_named():
    packages = {
        ".".join([package, *file.parent.relative_to(ROOT / folder).parts])
        for package, folder in FOLDERS.items()
        for file in (ROOT / folder).rglob("__init__.py")
        # The package of an example is not one of relex.
        if file.parts[-3] != "out_of_tree"
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages


def test_wheel_holds_every_file(wheel: Path):
    assert _wheel_files(wheel) == _package_files()


def test_sdist_builds_the_same_wheel(source: Path, wheel: Path, tmp_path: Path):
    with tarfile.open(build("sdist", source)) as archive:
        # Python 3.11.2 knows no filters, 3.12 warns where none is named.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    (unpacked,) = tmp_path.iterdir()
    assert _wheel_files(build("wheel", unpacked)) == _wheel_files(wheel)


@pytest.mark.parametrize("module", ["relex.tools.opt.relex_opt", "xdsl.tools.xdsl_opt"])
def test_wheel_works_away_from_the_checkout(module: str, wheel: Path, tmp_path: Path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        f"import sys, {module} as tool, relex.dialects;"
        "assert relex.dialects.__file__.startswith(sys.argv.pop()), relex.dialects.__file__;"
        "sys.exit(tool.main())"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, "-p", "set-target{cpu=haswell}", str(tmp_path / "site")],
        input="func.func private @f()",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stderr == ""
    assert process.returncode == 0
    assert 'cpu = "haswell"' in process.stdout
