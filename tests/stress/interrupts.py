"""Programs are built, called, saved and loaded, and interrupted as by Ctrl-C, each time at another moment. The process
can go on as if nothing had been, and no file is half of one. `--moments` says how often each is interrupted,
`--imports` how often the first build of a process, which imports what compiles."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

PROGRAM = """
func.func @main(%x: tensor<?x3xf32>, %w: tensor<2x3xf32>) -> tensor<?x2xf32> {
  %b = relex.constant dense<NUMBER.0> : tensor<2xf32>
  %0 = relex.dense %x, %w : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x2xf32>
  %1 = relex.add %0, %b : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  func.return %1 : tensor<?x2xf32>
}
"""


def interrupted(action: Callable[[], Any], moment: int) -> int:
    """Run something with a signal at a moment, a call or the return of a function in Python or C; return how many
    moments there were. That an interruption is lost, as in a `__del__`, is no mistake of who is interrupted."""
    count = 0

    def observe(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += 1
        if count == moment:
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(observe)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return count


def moments(action: Callable[[], Any], times: int) -> list[int]:
    """Return moments of an action, some from each part of it."""
    total, random = interrupted(action, -1), Random(0)
    return [random.randint(total * i // times, total * (i + 1) // times) or 1 for i in range(times)]


def result_of(executable: Any, rows: int = 2) -> float:
    """Call a program, and return the number in it."""
    import numpy as np

    (number,) = set(executable["main"](np.ones((rows, 3), np.float32), np.ones((2, 3), np.float32)).ravel() - 3)
    return float(number)


def interrupt_all(folder: Path, times: int) -> None:
    """Interrupt a build, one with a cache, a call with other sizes, saving and loading."""
    from relex.runtime import build, load

    first, second = (build(PROGRAM.replace("NUMBER", number), cache=False) for number in "12")
    path, turn = folder / "program.relex", 0

    def build_cached() -> float:
        return result_of(build(PROGRAM.replace("NUMBER", "1"), cache=folder / f"cache{turn}"))

    actions: dict[str, Callable[[], Any]] = {
        "build": lambda: build(PROGRAM.replace("NUMBER", "1"), cache=False),
        "build with a cache": build_cached,
        "call": lambda: result_of(first, turn),
        "save": lambda: second.save(path),
        "load": lambda: result_of(load(path)),
    }
    first.save(path)
    for name, action in actions.items():
        for moment in moments(action, times):
            turn += 1
            first.save(path)
            interrupted(action, moment)
            here = f"{name}, moment {moment}"
            assert result_of(first, turn) == 1, here
            assert result_of(load(path)) in ((1, 2) if name == "save" else (1,)), here
            assert list(folder.glob("*.relex")) == [path], here
            if action is build_cached:
                assert build_cached() == build_cached() == 1, here
        assert result_of(build(PROGRAM.replace("NUMBER", "1"), cache=False)) == 1, name
        print(f"{name}: interrupted {times} times", flush=True)


def first_build(moment: int) -> None:
    """Interrupt the first build of this process, and build again; print how many moments there were."""

    def action() -> None:
        from relex.runtime import build

        build(PROGRAM.replace("NUMBER", "1"), cache=False)

    print(interrupted(action, moment))
    from relex.runtime import build

    assert result_of(build(PROGRAM.replace("NUMBER", "1"), cache=False)) == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--imports", type=int, default=20)
    parser.add_argument("--first", type=int, help="interrupt only the first build of this process, at this moment")
    args = parser.parse_args()
    os.environ["RELEX_CACHE"] = "off"
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if args.first is not None:
        first_build(args.first)
        return
    if args.moments:
        with tempfile.TemporaryDirectory() as folder:
            interrupt_all(Path(folder), args.moments)
    random, total = Random(0), 0
    for i in range(args.imports):
        moment = random.randint(total * i // args.imports, total * (i + 1) // args.imports) or 10**9
        run = subprocess.run([sys.executable, __file__, "--first", str(moment)], capture_output=True, text=True)
        assert run.returncode == 0, f"first build, moment {moment}: {run.stderr}"
        total = total or int(run.stdout)
    print(f"first build: interrupted {max(args.imports - 1, 0)} times")


if __name__ == "__main__":
    main()
