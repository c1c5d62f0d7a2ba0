"""The bar that shows how far a tool has come."""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Iterator
from contextlib import closing, redirect_stderr
from dataclasses import dataclass, field
from select import select

import pytest
from stages_seen import StagesSeen
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import make_context, parse_module
from relex.passes import placed
from relex.passes.driver import progress_line
from relex.passes.driver.activity import doing, parts, watched_by, watchers
from relex.passes.driver.base import RelexPass, apply_pass
from relex.passes.driver.progress_line import Progress, showing_progress
from relex.runtime import build
from relex.tools.options.instrumentation import Timing
from relex.tools.shell import progress_bar
from relex.tools.shell.progress_bar import with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_terminals_show_it() -> None:
    file = io.StringIO()
    assert list(with_progress([1, 2, 3], file)) == [1, 2, 3]
    assert file.getvalue() == ""


def test_it_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "PAUSE", 0)
    file = Terminal()
    assert list(with_progress("ab", file)) == ["a", "b"]
    assert file.getvalue().startswith("\r[..............................] 0/2, starting")
    assert "\r[###############...............] 1/2, " in file.getvalue()
    assert file.getvalue().endswith("\r\x1b[K")


def test_timing_accounts_for_all_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages within others count once, imports wherever they happen."""
    clock = iter([1.0, 3.0, 4.0, 6.0, 7.0, 11.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    timing = Timing(0.0)
    with watched_by(timing), doing("outer"), doing("inner"):
        pass
    lines = timing.report().splitlines()[5:]
    rows = {line.split()[-1]: float(line.split()[0]) for line in lines[1:]}
    assert rows == {"Imports": 1.0, "outer": 2.0, "inner": 2.0, "Rest": 6.0, "Total": 11.0}


def test_timing_tells_kernels_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each moment belongs to one kernel, or to all of them: what a stage in a part does, to that part or its own."""
    clock = iter(float(2**i) for i in range(20))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    timing = Timing(0.0)
    with watched_by(timing), doing("Kernels"):
        for _ in parts(["first", "second"], str):
            with doing("pass"):
                for _ in parts(["first"], str):
                    pass
            with doing("LLVM"):
                for _ in parts([""], str):
                    pass
    by_kernel = timing.report().split("----Kernel----\n")[1].splitlines()
    rows = {line.rpartition(")  ")[2]: float(line.split()[0]) for line in by_kernel}
    total = rows.pop("Total")
    assert [*rows] == ["second", "first", "All of them"]
    assert sum(rows.values()) == total == sum(timing.seconds.values())
    assert rows["first"] == timing.seconds_of_parts["first"] > 0


@dataclass(frozen=True)
class Waits(RelexPass):
    """A pass that takes until a terminal shows a text."""

    name = "waits"
    terminal: int
    text: str
    shown: list[str] = field(default_factory=list[str])

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for part in parts(["first", "second"], lambda name: name):
            while part == "second" and self.text not in "".join(self.shown):
                assert select([self.terminal], [], [], 30)[0]
                self.shown.append(os.read(self.terminal, 1000).decode())


class Pty:
    """A terminal: what it is shown is read from `number`."""

    def __init__(self) -> None:
        self.number, other = os.openpty()
        self.file = os.fdopen(other, "w")

    def close(self) -> None:
        self.file.close()
        os.close(self.number)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pty]:
    monkeypatch.setattr(progress_line, "DELAY", 0.01)
    monkeypatch.setattr(progress_line, "PAUSE", 0.01)
    for variable in ("CI", "TERM", progress_line.VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    with closing(Pty()) as terminal:
        yield terminal


KERNELS = """
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = relex.matmul %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = relex.softmax %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %1 : tensor<64x64xf32>
}
"""

PROGRAM = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }"


def test_terminals_show_passes_and_their_parts(terminal: Pty) -> None:
    waits = Waits(terminal.number, "second")
    with redirect_stderr(terminal.file), showing_progress(), showing_progress():
        apply_pass(waits, make_context(), parse_module(PROGRAM))
    assert re.search(r"\r\x1b\[Kwaits 2/2 second, [0-9]+ s\r", "".join(waits.shown))
    assert os.read(terminal.number, 10000).decode().endswith("\r\x1b[K")


def test_the_parts_of_stages_around_are_shown() -> None:
    progress, shown = Progress(io.StringIO()), list[str]()
    with watched_by(progress), doing("build"), doing("kernels"):
        for _ in parts(["first", "second"], str):
            with doing("pass"):
                shown.append(str(progress))
                for _ in parts(["f"], str):
                    shown.append(str(progress))
        shown.append(str(progress))
    first, second = "kernels 1/2 first", "kernels 2/2 second"
    assert shown == [f"{first}: pass", f"{first}: pass 1/1 f", f"{second}: pass", f"{second}: pass 1/1 f", second]
    assert str(progress) == ""


def test_builds_show_it(terminal: Pty) -> None:
    waits = Waits(terminal.number, "waits 2/2 second")
    with redirect_stderr(terminal.file):
        build(PROGRAM, passes=[placed(waits, after="fuse-ops")])
    assert waits.shown


def test_kernels_are_counted_while_llvm_compiles_them() -> None:
    seen = StagesSeen()
    with watched_by(seen):
        build(KERNELS, cache=False)
    assert [found for found in seen.parts if found[0] == "LLVM"] == [("LLVM", 0, 2), ("LLVM", 1, 2)]


@pytest.mark.parametrize(("variable", "value"), [(progress_line.VARIABLE, "0"), ("CI", "true"), ("TERM", "dumb")])
def test_where_nobody_looks_nothing_is_shown(
    terminal: Pty, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    with redirect_stderr(terminal.file):
        with showing_progress(False):
            assert not watchers()
        with showing_progress():
            assert watchers()
        monkeypatch.setenv(variable, value)
        with showing_progress():
            assert not watchers()
