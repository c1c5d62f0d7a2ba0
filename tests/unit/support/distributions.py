"""Wheels and source distributions of the checkout."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]


def copy_source(folder: Path) -> Path:
    """Copy what the packages are built from to a new folder, and return it; a build leaves files behind."""
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "MANIFEST.in", "build_backend.py"):
        shutil.copy(ROOT / name, folder)
    for package in FOLDERS.values():
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def build(kind: str, source: Path) -> Path:
    """Run the build backend in `source`, without network, and return the path of the wheel or sdist."""
    code = f"import sys; from build_backend import build_{kind} as build; print(build(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(source)]
    process = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True)
    return source / process.stdout.splitlines()[-1]


def install(wheel: Path, folder: Path) -> None:
    """Install a wheel, without what it depends on, into a folder of packages."""
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(wheel)], check=True)


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a path that is made by the first process of a test run that asks for it."""
    # With pytest-xdist, each process has a folder in the folder of the run.
    base = factory.getbasetemp()
    base = base.parent if base.name.startswith("popen-") else base
    path, done = base / name, base / f"{name}.done"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(path)
            done.touch()
    return path


def installed_wheel(factory: pytest.TempPathFactory) -> Path:
    """Return a folder of packages with the wheel of the checkout."""

    def make(path: Path) -> None:
        install(build("wheel", copy_source(path.with_name("wheel-source"))), path)

    return once(factory, "site-packages", make)
