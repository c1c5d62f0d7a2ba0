"""A copy of the checkout: files of it are edited, and tests run in it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from venv import EnvBuilder

ROOT = Path(__file__).resolve().parents[2]

PROBED = 77
"""The status of a process that comes to the edited place, if only that is asked."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its status, None if it took too long, and what it printed."""

    status: int | None
    output: str


class Tree:
    """A copy of all files that git knows or does not ignore."""

    def __init__(self, folder: Path):
        self.root = folder / "tree"
        self._caches = folder / "cache"
        self._edits = 0
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
        kept = {name for name in files if name and (ROOT / name).exists()}
        for old in self.root.rglob("*.py"):
            if not old.is_symlink() and str(old.relative_to(self.root)) not in kept:
                old.unlink()
        for name in sorted(kept):
            copy_file(ROOT / name, self.root / name)
        self._bin = make_environment(folder / "venv", self.root)

    @contextmanager
    def edited(self, name: str, data: bytes) -> Generator[None]:
        """Within the context, a file has other contents."""
        path = self.root / name
        self._write(path, data)
        try:
            yield
        finally:
            shutil.copy2(ROOT / name, path)

    def _write(self, path: Path, data: bytes) -> None:
        # Python compares the time of a file, in seconds, and its size with the time and size of the code that it keeps.
        path.write_bytes(data)
        self._edits += 1
        os.utime(path, (self._edits, self._edits))
        shutil.rmtree(self._caches, ignore_errors=True)

    def run(self, command: Sequence[str | Path], seconds: float) -> Ended:
        """Run a command with the relex of the tree. It ends with all that it started."""
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(self._bin), os.environ.get("PATH", "")]),
            "XDG_CACHE_HOME": str(self._caches),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=max(1.0, seconds))
            return Ended(process.returncode, output)
        except subprocess.TimeoutExpired:
            return Ended(None, "")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def python(self, *words: str | Path, seconds: float) -> Ended:
        """Run Python with the relex of the tree."""
        return self.run([self._bin / "python", *words], seconds)


def make_environment(folder: Path, root: Path) -> Path:
    """Make a virtual environment with the relex of a tree and all else that this one has; return where its programs
    are. Processes that tests start are in it, whatever variables they get."""
    EnvBuilder(symlinks=True, clear=True).create(folder)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    others = sysconfig.get_path("purelib")
    lines = [str(root / "tests" / "typing"), f"import site; site.addsitedir({others!r})"]
    (packages / "tree.pth").write_text("\n".join(lines) + "\n")
    here, scripts = Path(sys.executable).parent, folder / "bin"
    for program in here.iterdir():
        first, end, rest = program.read_bytes().partition(b"\n") if program.is_file() else (b"", b"", b"")
        if first.startswith(f"#!{here}/python".encode()):
            (scripts / program.name).write_bytes(f"#!{scripts}/python".encode() + end + rest)
            (scripts / program.name).chmod(0o755)
    return scripts


def copy_file(source: Path, target: Path) -> None:
    """Copy a file or a link, unless it is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        if not target.is_symlink():
            target.symlink_to(os.readlink(source))
        return
    new = source.stat()
    old = target.stat() if target.exists() else None
    if old is None or (old.st_size, old.st_mtime_ns) != (new.st_size, new.st_mtime_ns):
        shutil.copy2(source, target)


@dataclass(frozen=True)
class Tests:
    """Some tests that run together: files of lit, or files or single tests of pytest."""

    names: tuple[str, ...]

    __test__ = False  # for pytest

    @property
    def is_lit(self) -> bool:
        """Whether lit runs them."""
        return self.names[0].endswith(".mlir")

    def run(self, tree: Tree, seconds: float, without: Sequence[str] = ()) -> str | None:
        """Return the first test that fails or hangs, None if all are right or there is no time left to tell."""
        names = [name for name in self.names if name not in without]
        if not names:
            return None
        options = ["--max-failures=1"] if self.is_lit else ["-x", *(f"--deselect={name}" for name in without)]
        ended = tree.python(*self._runner, *options, *names, seconds=seconds)
        return None if ended.status in (None, 0, NO_TESTS) else next(iter(self.failed(ended)), names[0])

    def all_failing(self, tree: Tree, seconds: float) -> list[str]:
        """Return all tests that fail."""
        return self.failed(tree.python(*self._runner, *self.names, seconds=seconds)) if self.names else []

    @property
    def _runner(self) -> list[str]:
        if self.is_lit:
            return ["-c", "from lit.main import main; main()", "--succinct", "--workers=1", f"--timeout={HANGS}"]
        hangs = ("-o", f"faulthandler_timeout={HANGS}", "-o", "faulthandler_exit_on_timeout=true")
        return ["-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no", *hangs]

    def failed(self, ended: Ended) -> list[str]:
        """Return the tests that failed or hung, from what was printed."""
        if self.is_lit:
            found = re.findall(r"^(?:FAIL|TIMEOUT|UNRESOLVED): \S+ :: (\S+)", ended.output, re.MULTILINE)
            return [f"tests/lit/{name}" for name in dict.fromkeys(found)]
        failed = re.findall(FAILED, ended.output, re.MULTILINE)
        return failed or re.findall(r"File .*?((?:extras/\w+/tests|tests/\w+)/test_\w+\.py)", ended.output)[:1]


FAILED = r"^(?:FAILED|ERROR) ((?:tests|extras)/[^\s:]+(?:::[\w:]+(?:\[.*?\])?)?)(?= - |$)"
"""How pytest says that a test failed."""

HANGS = 180
"""Seconds after which a test does not come to an end."""

NO_TESTS = 5
"""The status of pytest if all tests were left out."""
