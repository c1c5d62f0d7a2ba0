"""Loops that threads share."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from started import run_python

from relex.dialects import parse_module
from relex.dialects.errors import RelexError
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.runtime import build, get_threads, set_threads
from relex.runtime.threads.pool import pool, pool_text

ROWS = """
tir.prim_func @rows(%X: memref<?x5xf32> {relex.dims = ["n", ""]}) outs(%Y: memref<?x5xf32> {relex.dims = ["n", ""]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?x5xf32>
  tir.for parallel %i in (%n) {
    %T = tir.alloc_buffer : memref<5xf32>
    %L = tir.alloc_buffer : memref<2000xf32>
    tir.for %j in (5) {
      tir.block @T (%vi: spatial<%n> = %i, %vj: spatial<5> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<?x5xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %T[%vj] : memref<5xf32>
        memref.store %x, %L[%vj] : memref<2000xf32>
      }
    }
    tir.for %j in (5) {
      tir.block @Y (%vi: spatial<%n> = %i, %vj: spatial<5> = %j) {
        %x = memref.load %T[%vj] : memref<5xf32>
        %l = memref.load %L[%vj] : memref<2000xf32>
        %y = arith.addf %x, %l : f32
        memref.store %y, %Y[%vi, %vj] : memref<?x5xf32>
      }
    }
  }
}
"""


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """A test leaves as many threads as it found."""
    before = get_threads()
    yield
    set_threads(before)


def rows(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.arange(count * 5, dtype=np.float32).reshape(count, 5)


# Programs


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 1000])
def test_every_iteration_runs_once(count: int) -> None:
    ex = build(ROWS)
    for threads in (1, 2, 3, 8):
        set_threads(threads)
        for _ in range(20):
            assert (ex["rows"](rows(count)) == 3 * rows(count)).all()


def test_parallel_inside_of_vectors_and_of_parallel_loops() -> None:
    text = """
tir.prim_func @f(%X: memref<8x4x3xf32>) outs(%Y: memref<8x4x3xf32>) {
  tir.for OUTER %i in (8) {
    tir.for parallel %j in (4) {
      tir.for parallel %k in (3) {
        tir.block @Y (%vi: spatial<8> = %i, %vj: spatial<4> = %j, %vk: spatial<3> = %k) {
          %x = memref.load %X[%vi, %vj, %vk] : memref<8x4x3xf32>
          memref.store %x, %Y[%vi, %vj, %vk] : memref<8x4x3xf32>
        }
      }
    }
  }
}
"""
    x = np.arange(96, dtype=np.float32).reshape(8, 4, 3)
    for outer in ("vectorized", "parallel", ""):
        assert (build(text.replace("OUTER", outer))["f"](x) == x).all()


def test_callers_at_the_same_time() -> None:
    """One gets the threads, the others run alone."""
    first, second = build(ROWS)["rows"], build(ROWS.replace("@rows", "@other"))["other"]
    set_threads(3)
    together = threading.Barrier(4)

    def call(number: int) -> None:
        x, function = rows(50 + number), (first, second)[number % 2]
        together.wait(timeout=600)
        for _ in range(500):
            assert (function(x) == 3 * x).all()

    with ThreadPoolExecutor(4) as callers:
        list(callers.map(call, range(4)))


# The pool


CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def share(run: Callable[[int, int], None], first: int, last: int, times: int = 1) -> None:
    """Let threads share a loop whose parts are run by a function in Python."""

    def call(frame: int, begin: int, end: int) -> None:
        run(begin, end)

    chunk = CHUNK(call)
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(pool().entry)
    for _ in range(times):
        entry(ctypes.cast(chunk, ctypes.c_void_p), None, first, last)


def test_several_threads_work() -> None:
    """As soon as the caller has seen that the loop takes long."""
    set_threads(3)
    seen: dict[int, list[int]] = {}
    together = threading.Barrier(3)

    def run(begin: int, end: int) -> None:
        if begin == 5:
            time.sleep(1e-3)
            first.extend(range(begin, end))
        elif threading.get_ident() not in seen:
            seen[threading.get_ident()] = []
            together.wait(timeout=600)
        if begin != 5:
            seen[threading.get_ident()] += range(begin, end)

    first: list[int] = []
    share(run, 5, 105)
    assert len(seen) == 3
    assert sorted(i for part in (first, *seen.values()) for i in part) == list(range(5, 105))


@pytest.mark.parametrize("threads", [2, 3, 5, 16])
def test_each_iteration_runs_once(threads: int) -> None:
    """Also iterations of threads that do not come, and if there are fewer iterations than threads."""
    set_threads(threads)
    for count in (2, 3, 4, 15, 16, 17, 40, 500):
        ran: list[int] = []

        def run(begin: int, end: int, ran: list[int] = ran) -> None:
            time.sleep(1e-4)
            ran.extend(range(begin, end))

        share(run, 7, 7 + count)
        assert sorted(ran) == list(range(7, 7 + count))


def test_each_thread_begins_with_a_part_of_its_own() -> None:
    """What it computes of one loop is still in its caches in the next."""
    set_threads(2)
    begun: dict[int, int] = {}
    together = threading.Barrier(2)

    def run(begin: int, end: int) -> None:
        if begin == 5:
            time.sleep(1e-3)
        elif threading.get_ident() not in begun:
            begun[threading.get_ident()] = begin
            together.wait(timeout=600)

    share(run, 5, 105)
    assert sorted(begun.values()) == [6, 55]


def test_a_loop_that_took_long_is_shared_from_its_first_iteration_on() -> None:
    """Some calls measure it again."""
    set_threads(2)
    came: list[bool] = []
    calls: list[threading.Event] = []

    def run(begin: int, end: int) -> None:
        time.sleep(1e-3)
        if begin == 0:
            calls.append(threading.Event())
            came.append(calls[-1].wait(timeout=1))
        elif calls:
            calls[-1].set()

    share(run, 0, 6, times=4)
    assert any(came)


def test_short_loops_are_not_shared() -> None:
    """The caller sees that the loop takes no time, and runs the rest at once."""
    set_threads(4)
    parts: list[tuple[int, int]] = []
    for _ in range(100):
        parts.clear()
        share(lambda begin, end: parts.append((begin, end)), 0, 2)
        if parts == [(0, 1), (1, 2)]:
            return
    pytest.fail(f"two short iterations ran as {parts}")


def test_one_thread_runs_all_at_once() -> None:
    set_threads(1)
    parts: list[tuple[int, int]] = []
    share(lambda begin, end: parts.append((begin, end)), 3, 1000)
    assert parts == [(3, 1000)]


def test_a_loop_inside_of_a_loop_runs_alone() -> None:
    set_threads(2)
    inner: list[tuple[int, int]] = []

    def run(begin: int, end: int) -> None:
        time.sleep(1e-3)
        for _ in range(begin, end):
            share(lambda first, last: inner.append((first, last)), 0, 10)

    share(run, 0, 4)
    assert inner == [(0, 10)] * 4


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-darwin", "riscv64-unknown-linux-gnu"])
def test_it_compiles_for_other_machines(triple: str) -> None:
    """Each has another way to wait, or none."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip("LLVM was built without this target")
    module = llvm.parse_assembly(pool_text(triple))
    module.triple = triple
    assert "share" in target.create_target_machine().emit_assembly(module)


@pytest.mark.parametrize("count", [0, -1, 257, 2.0, "2", None])
def test_wrong_numbers(count: object) -> None:
    with pytest.raises(RelexError, match=r"expected threads of 1 to 256, found"):
        set_threads(count)  # pyright: ignore[reportArgumentType]


MEETING = """
import os, threading, time
from relex.runtime import set_threads
from test_threads import share
home, others = sorted(os.sched_getaffinity(0))[0], sorted(os.sched_getaffinity(0))[1:]

def helpers():
    together, found = threading.Barrier(2), {}
    def run(begin, end):
        if begin == 0:
            time.sleep(1e-3)
        elif threading.get_native_id() not in found:
            found[threading.get_native_id()] = os.sched_getaffinity(0)
            together.wait(timeout=600)
    share(run, 0, 100)
    found.pop(threading.get_native_id())
    return found

set_threads(2)
((helper, _),) = helpers().items()
for thread in (0, helper):
    os.sched_setaffinity(thread, {home})
print(helpers() == {helper: set(others)})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the processor of a thread")
def test_threads_keep_out_of_the_way_of_the_caller() -> None:
    """One that wakes on the caller's processor moves to the others."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    result = fresh_python(MEETING, PYTHONPATH=os.pathsep.join(sys.path))
    assert (result.stdout, result.stderr) == ("True\n", "")


# Processes


def fresh_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a separate Python, from its start to its end."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def with_threads(count: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run a program with a number of threads in the environment."""
    return run_python("-c", code, env={**os.environ, "RELEX_NUM_THREADS": count})


def test_the_environment_says_how_many() -> None:
    code = "from relex.runtime import get_threads; print(get_threads())"
    assert with_threads("3", code).stdout == "3\n"
    for wrong, shown in (("0", "0"), ("many", "'many'"), ("-1", "'-1'"), ("", "''")):
        error = with_threads(wrong, code).stderr
        assert f"RelexError: expected RELEX_NUM_THREADS of 1 to 256, found {shown}" in error


def test_a_wrong_number_in_the_environment_is_an_error_of_any_program(tmp_path: Path) -> None:
    file = tmp_path / "program.relex"
    program = "func.func @f() { return }"
    build(program).save(file)
    uses = (f"build('{program}')", f"load('{file}')")
    for use in uses:
        code = f"from relex.runtime import build, load; {use}"
        error = with_threads("abc", code).stderr
        assert "expected RELEX_NUM_THREADS of 1 to 256, found 'abc'" in error.splitlines()[-1]
        assert with_threads("1", code).stderr == ""


FORK = f"""
import os, sys
import numpy as np
from relex.runtime import build, set_threads
rows = build('''{ROWS}''')["rows"]
x = np.ones((500, 5), np.float32)
set_threads(3)
for generation in range(3):
    assert (rows(x) == 3).all()
    if generation == 2:
        break
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert (rows(x) == 3).all()
        sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_children_start_threads_of_their_own() -> None:
    result = fresh_python(FORK)
    assert result.returncode == 0, result.stderr


def test_processes_end_while_threads_are_awake() -> None:
    code = FORK.replace("range(3)", "range(0)") + "for _ in range(100): rows(x)\n"
    result = fresh_python(code)
    assert (result.returncode, result.stderr) == (0, "")


ENDING = """
import atexit, os, threading, time
seen = set()
atexit.register(lambda: print(len(seen), len(seen & {int(task) for task in os.listdir("/proc/self/task")})))
from relex.runtime import set_threads
from test_threads import share
together = threading.Barrier(3)

def run(begin, end):
    if begin == 0:
        time.sleep(1e-3)
    elif threading.get_native_id() not in seen:
        seen.add(threading.get_native_id())
        together.wait(timeout=600)

set_threads(3)
share(run, 0, 100)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the threads of a process in a folder")
def test_threads_end_before_their_code_is_gone() -> None:
    """Python runs what was registered first in the end last."""
    result = fresh_python(ENDING, PYTHONPATH=os.pathsep.join(sys.path))
    assert (result.stdout, result.stderr) == ("3 1\n", "")


PROGRAM_IN_C = """
#include <stdint.h>
typedef struct { float *base, *data; int64_t offset, sizes[2], strides[2]; } matrix;
void _mlir_ciface_rows(matrix *x, matrix *y);
int main(void) {
  float a[15], b[15];
  matrix x = { a, a, 0, { 3, 5 }, { 5, 1 } }, y = { b, b, 0, { 3, 5 }, { 5, 1 } };
  for (int i = 0; i < 15; i++) a[i] = i;
  _mlir_ciface_rows(&x, &y);
  for (int i = 0; i < 15; i++) if (b[i] != 3 * i) return 1;
  return CALLS;
}
"""
OWN_ENTRY = """
static int calls;
void _relex_parallel(void (*chunk)(void *, int64_t, int64_t), void *frame, int64_t first, int64_t last) {
  calls++;
  for (int64_t i = last; i > first; i--) chunk(frame, i - 1, i);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(("entry", "calls"), [("", 0), (OWN_ENTRY, 1)])
def test_object_code_without_relex(entry: str, calls: int, tmp_path: Path) -> None:
    """It brings along what runs a loop, and takes the one of others where there is one."""
    lowered = RelexPipelinePass()(parse_module(ROWS))
    (tmp_path / "rows.o").write_bytes(compile_module(lowered, embed_constants=True).code)
    includes, main = PROGRAM_IN_C.split("typedef")
    text = includes + entry + "typedef" + main.replace("CALLS", "calls" if entry else "0")
    (tmp_path / "main.c").write_text(text)
    subprocess.run(["cc", "main.c", "rows.o", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == calls
