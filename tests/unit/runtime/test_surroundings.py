"""Hostile surroundings: Ctrl-C at any moment, full disks, no memory, forks in a call, sub-interpreters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from started import run_python

STRESS = Path(__file__).parents[2] / "stress"

PROGRAM = """
func.func @main(%x: tensor<?x3xf32>, %w: tensor<2x3xf32>) -> tensor<?x2xf32> {
  %0 = relex.dense %x, %w : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x2xf32>
  %1 = relex.relu %0 : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %1 : tensor<?x2xf32>
}
"""

COMMON = f"""
import os, resource, signal, sys
from pathlib import Path
import numpy as np
from relex.dialects import RelexError
from relex.runtime import build, load, register_func, set_threads
PROGRAM = '''{PROGRAM}'''
x, w = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)

def is_right(executable):
    return (executable["main"](x, w) == 3).all()
"""


def run_child(code: str, *arguments: object) -> str:
    """Run code in a separate process, and return what it prints."""
    run = run_python("-c", COMMON + dedent(code), *map(str, arguments), timeout=600)
    assert run.returncode == 0, run.stderr
    return run.stdout


def run_stress(script: str, *arguments: str) -> None:
    """Run a stress test."""
    command = [sys.executable, STRESS / script, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_interrupts() -> None:
    run_stress("interrupts.py", "--moments=2", "--imports=1")


@pytest.mark.full
def test_many_interrupts() -> None:
    run_stress("interrupts.py", "--moments=200", "--imports=40")


@pytest.mark.full
def test_a_thousand_builds() -> None:
    run_stress("growth.py", "--compilations=0", "--builds=1000", "--loads=0")


@pytest.mark.skipif(sys.platform != "linux", reason="needs timers and limits of Linux")
class TestOnLinux:
    def test_interrupts_of_calls(self) -> None:
        """Signals arrive whenever they do, with several threads at work; the next call gives what it should."""
        code = """
            import random
            ex = build(PROGRAM)
            set_threads(3)
            many = np.ones((20000, 3), np.float32)
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            interrupts = 0
            for _ in range(60):
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 3e-3))
                    while True:
                        ex["main"](many, w)
                except KeyboardInterrupt:
                    interrupts += 1
                assert is_right(ex) and (ex["main"](many, w) == 3).all()
            print(interrupts)
        """
        assert run_child(code) == "60\n"

    def test_a_full_disk(self, tmp_path: Path) -> None:
        """What cannot be written is an error, or a warning if it is a cache; what was there before stays."""
        code = """
            import warnings
            from relex.runtime import build_object
            folder = Path(sys.argv[1])
            ex = build(PROGRAM)
            ex.save(folder / "old.relex")
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
            for action in (
                lambda: ex.save(folder / "old.relex"),
                lambda: ex.save(folder / "new.relex"),
                lambda: build_object(PROGRAM, folder / "new.o"),
            ):
                try:
                    action()
                    print("written")
                except RelexError as e:
                    print(e)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                assert is_right(build(PROGRAM, cache=folder / "cache"))
            print(*(warning.message for warning in caught))
            assert is_right(load(folder / "old.relex"))
            print(*sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()))
        """
        *errors, warning, files = run_child(code, tmp_path).splitlines()
        assert len(errors) == 3
        assert all("cannot be written: file too large" in error.lower() for error in errors)
        assert "is not kept in the cache" in warning
        assert files == "old.relex"

    @pytest.mark.parametrize("tool", ["opt", "run"])
    def test_tools_on_a_full_disk(self, tool: str, tmp_path: Path) -> None:
        """Output that cannot be written is an error without a traceback; what was in its place stays."""
        (tmp_path / "x.mlir").write_text(PROGRAM)
        output = tmp_path / "out.relex"
        output.write_bytes(b"old")
        arguments = [f"relex_{tool}", str(tmp_path / "x.mlir"), "-o" if tool == "opt" else "--save", str(output)]
        code = """
            from importlib import import_module
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
            module, *arguments = sys.argv[1:]
            sys.stderr = sys.stdout
            print(import_module(f"relex.tools.{module.removeprefix('relex_')}.{module}").main(arguments))
        """
        found = run_child(code, *arguments)
        assert found.splitlines()[-1] == "1"
        assert "file too large" in found.lower()
        assert "Traceback" not in found
        assert output.read_bytes() == b"old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out.relex", "x.mlir"]

    def test_no_memory(self, tmp_path: Path) -> None:
        """Calls and files that need more memory than there is are errors, and smaller ones go on."""
        code = """
            from relex.dialects.exceptions import OutOfMemoryError
            path = Path(sys.argv[1]) / "large.relex"
            ex = build(PROGRAM)
            assert is_right(ex)
            large = '''
            func.func @main() -> tensor<30000000xf32> {
              %0 = relex.constant dense<1.5> : tensor<30000000xf32>
              func.return %0 : tensor<30000000xf32>
            }
            '''
            build(large, cache=False).save(path)
            size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (size + 80_000_000, resource.RLIM_INFINITY))
            rows = np.broadcast_to(x[:1], (15_000_000, 3))
            for action in (lambda: ex["main"](rows, w), lambda: load(path), lambda: load(path, mapped=False)):
                try:
                    action()
                    print("works")
                except (RelexError, MemoryError) as e:
                    print(type(e).__name__)
                assert is_right(ex)
            assert is_right(build(PROGRAM, cache=False))
        """
        assert "works" not in run_child(code, tmp_path)

    def test_a_fork_in_a_call(self) -> None:
        """A library function forks: parent and child both come back from the call, and go on calling."""
        code = """
            children = []

            def forks(given, out):
                children.append(os.fork())
                out[...] = given + 1

            register_func("test.forks", forks)
            set_threads(3)
            calls = build('''
            func.func @main(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}) -> tensor<?x3xf32> {
              %c0 = arith.constant 0 : index
              %n = tensor.dim %x, %c0 : tensor<?x3xf32>
              %0 = relex.call_dps_packed "test.forks"(%x) sizes(%n) : (tensor<?x3xf32>) -> tensor<?x3xf32>
              %1 = relex.exp %0 : (tensor<?x3xf32>) -> tensor<?x3xf32>
              func.return %1 : tensor<?x3xf32>
            }
            ''')["main"]
            ex = build(PROGRAM)
            many = np.zeros((50000, 3), np.float32)
            found = calls(many)
            good = np.allclose(found, np.e) and (ex["main"](np.ones((50000, 3), np.float32), w) == 3).all()
            if not children[-1]:
                os._exit(0 if good and is_right(build(PROGRAM, cache=False)) else 3)
            _, status = os.waitpid(children[-1], 0)
            print(good, os.waitstatus_to_exitcode(status))
        """
        assert run_child(code) == "True 0\n"
