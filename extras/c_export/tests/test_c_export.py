"""Object files and headers: C programs that call what relex compiled."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from started import tool

from relex.dialects import CompileError, RelexError
from relex.dialects.signature import Signature, TensorSpec
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, Requirement, Size, evaluate, larger, named, smaller
from relex.dialects.target.machine import Target
from relex.runtime import build, build_object
from relex.runtime.c.header import c_header
from relex.runtime.c.names import CNames

EXAMPLE = Path(__file__).parents[3] / "examples" / "c"

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

needs_threads = pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform != "linux", reason="needs a C compiler, and Linux's names of libraries"
)

FLAGS = "-std=c99 -Wall -Wextra -Wconversion -Werror -pedantic -O1".split()

OK, WRONG_SIZES, TOO_LARGE, OUT_OF_MEMORY = range(4)

WEIGHTS = np.random.default_rng(0).standard_normal((7, 5)).astype(np.float32)
TABLE = np.random.default_rng(1).standard_normal(1000)

PROGRAM = f"""
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x7xf32> {{
  %w = relex.constant dense<"0x{WEIGHTS.tobytes().hex()}"> : tensor<7x5xf32>
  %0 = relex.dense %x, %w : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
  %1 = relex.relu %0 : (tensor<3x7xf32>) -> tensor<3x7xf32>
  func.return %1 : tensor<3x7xf32>
}}
func.func @parts(%x: tensor<?xf64> {{relex.dims = ["n"]}}, %y: tensor<?x2xi64> {{relex.dims = ["m", ""]}},
    %b: tensor<?xi1> {{relex.dims = ["n"]}})
    -> (tensor<?xf64> {{relex.dims = ["n + 1000"]}}, tensor<?x2xi64> {{relex.dims = ["m", ""]}}, tensor<?xi1>) {{
  %t = relex.constant dense<"0x{TABLE.tobytes().hex()}"> : tensor<1000xf64>
  %0 = relex.concat %x, %t : (tensor<?xf64>, tensor<1000xf64>) -> tensor<?xf64>
  %1 = relex.add %y, %y : (tensor<?x2xi64>, tensor<?x2xi64>) -> tensor<?x2xi64>
  func.return %0, %1, %b : tensor<?xf64>, tensor<?x2xi64>, tensor<?xi1>
}}
func.func @scalar(%x: tensor<f64>) -> tensor<f64> {{
  %0 = relex.exp %x : (tensor<f64>) -> tensor<f64>
  func.return %0 : tensor<f64>
}}
func.func @nothing() {{
  func.return
}}
"""


def run_c(folder: Path, source: str, *objects: str) -> str:
    """What a C program prints."""
    compile_c(folder, source, *FLAGS, *objects, "-lm", "-o", "main")
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True, timeout=600).stdout


def compile_c(folder: Path, source: str, *options: str) -> None:
    (folder / "main.c").write_text(source)
    compiled = subprocess.run(["cc", "main.c", *options], cwd=folder, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr


@needs_cc
def test_a_program_in_c(tmp_path: Path):
    build_object(PROGRAM, tmp_path / "model.o")
    printed = run_c(
        tmp_path,
        r"""
#include "model.h"
#include <stdio.h>

int main(void) {
  float x[15], y[21];
  double u[2] = {0.5, -0.0}, v;
  int64_t w[6] = {1, 2, 3, 4, 5, -6};
  uint8_t b[2] = {1, 0};
  model_parts_arrays arrays;
  double *results;
  int64_t doubled[6];
  uint8_t copied[2];
  int i;
  for (i = 0; i < 15; ++i) x[i] = (float)i / 7 - 1;
  printf("%d\n", model_main(x, y));
  for (i = 0; i < 21; ++i) printf("%a ", (double)y[i]);
  printf("\n%d", model_parts_check(3, 2, &arrays));
  printf(" %d %d", (int)arrays.result_0.shape[0], (int)arrays.result_1.bytes);
  printf("\n%d\n", model_parts_check(2, 3, &arrays));
  results = (double *)malloc((size_t)arrays.result_0.bytes);
  if (results == NULL) return 1;
  printf("%d\n", model_parts(2, 3, u, w, b, results, doubled, copied));
  for (i = 0; i < 1002; ++i) printf("%a ", results[i]);
  printf("\n%d %d %d %d\n", (int)doubled[0], (int)doubled[5], copied[0], copied[1]);
  free(results);
  v = 1;
  printf("%d %d", model_scalar(&v, u), model_nothing());
  printf(" %a\n", u[0]);
  return 0;
}
""",
        "model.o",
    )
    lines = printed.splitlines()
    ex = build(PROGRAM)
    x = (np.arange(15, dtype=np.float32) / np.float32(7) - 1).reshape(3, 5)
    assert lines[0] == "0"
    assert [float.fromhex(text) for text in lines[1].split()] == ex["main"](x).ravel().tolist()
    assert lines[2:5] == ["0 1003 32", "0", "0"]
    assert [float.fromhex(text) for text in lines[5].split()] == [0.5, -0.0, *TABLE.tolist()]
    assert lines[6:] == ["2 -12 1 0", f"0 0 {ex['scalar'](np.array(1.0)).item().hex()}"]


@needs_cc
def test_an_argument_whose_place_a_result_takes(tmp_path: Path):
    build_object(
        """
        func.func @main(%x: tensor<?xf32>, %total: tensor<?xf32> {relex.inout = 0 : i64}) -> tensor<?xf32> {
          %0 = relex.add %total, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
          func.return %0 : tensor<?xf32>
        }
        """,
        tmp_path / "model.o",
    )
    assert "int model_main(int64_t x_d0, const float *x, float *total)" in (tmp_path / "model.h").read_text()
    source = r"""
#include "model.h"
#include <stdio.h>

int main(void) {
  const float x[2] = {1, 2};
  float total[2] = {0, 0};
  int i;
  for (i = 0; i < 3; ++i)
    if (model_main(2, x, total) != RELEX_OK) return 1;
  printf("%g %g", total[0], total[1]);
  return 0;
}
"""
    assert run_c(tmp_path, source, "model.o") == "3 6"


@needs_cc
def test_only_what_the_header_has_is_seen(tmp_path: Path):
    """A program has its own `main`, and two object files may be linked together."""
    for name in ("first", "second"):
        build_object(PROGRAM, tmp_path / f"{name}.o")
    source = """
#include "first.h"
#include "second.h"
int main(void) { return first_nothing() + second_nothing(); }
"""
    run_c(tmp_path, source, "first.o", "second.o")


LIBRARY = """
func.func @main(%x: tensor<?x2xf32> {relex.dims = ["n", ""]}) -> (tensor<?x2xf32> {relex.dims = ["n", ""]}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2xf32>
  %0 = relex.call_dps_packed "env.twice"(%x) sizes(%n) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %1 = relex.relu %0 : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %1 : tensor<?x2xf32>
}
"""


@needs_cc
def test_library_functions_are_defined_in_c(tmp_path: Path):
    """They need not be registered."""
    build_object(LIBRARY, tmp_path / "lib-1.o")
    source = r"""
#include "lib-1.h"
#include <stdio.h>
void lib_1_env_twice(const relex_array2 *x, const relex_array2 *y) {
  const float *from = (const float *)x->data + x->offset;
  float *to = (float *)y->data + y->offset;
  int64_t i;
  for (i = 0; i < x->sizes[0] * x->sizes[1]; ++i) to[i] = 2 * from[i];
}
int main(void) {
  float x[6] = {1, -2, 3, 4, 5, -6}, y[6];
  int i;
  printf("%d", lib_1_main(3, x, y));
  for (i = 0; i < 6; ++i) printf(" %g", (double)y[i]);
  return 0;
}
"""
    assert run_c(tmp_path, source, "lib-1.o") == "0 2 0 6 8 10 0"


NUMBERS = """
func.func @scaled(%x: tensor<?xf32> {relex.dims = ["n"]}, %s: f32, %k: index) -> (f32, tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.addi %size, %k : index
  %t = arith.addf %s, %s : f32
  %y = relex.relu %x : (tensor<?xf32>) -> tensor<?xf32>
  func.return %t, %y, %m : f32, tensor<?xf32>, index
}
func.func @made(%n: index, %v: i64) -> (tensor<?xi32>, i64) {
  %y = relex.call_tir @fill() sizes(%n) : () -> tensor<?xi32>
  func.return %y, %v : tensor<?xi32>, i64
}
tir.prim_func private @fill() outs(%Y: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %Y, %c0 : memref<?xi32>
  tir.for %i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = arith.constant 7 : i32
      memref.store %x, %Y[%v] : memref<?xi32>
    }
  }
}
func.func @next(%x: tensor<?xf32> {relex.dims = ["n"]}, %k: index {relex.dims = ["n + 1"]}) -> (tensor<?xf32>, index) {
  %y = relex.call_tir @copy(%x) sizes(%k) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y, %k : tensor<?xf32>, index
}
tir.prim_func private @copy(%X: memref<?xf32>) outs(%Y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %Y, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = arith.constant 3.0 : f32
      memref.store %x, %Y[%v] : memref<?xf32>
    }
  }
}
"""
KINDS = {
    "f16": ("uint16_t", "0x3c01, 0x8000, 0x7e00"),
    "f32": ("float", "0.5f, -0.0f, 3e38f"),
    "f64": ("double", "0.1, -0.0, 1e308"),
    "i1": ("bool", "true, false, true"),
    "i8": ("int8_t", "-128, -1, 127"),
    "i16": ("int16_t", "-32768, -1, 32767"),
    "i32": ("int32_t", "-2147483647, -1, 2147483647"),
    "i64": ("int64_t", "INT64_MIN, -1, INT64_MAX"),
    "index": ("int64_t", "INT64_MIN, -1, INT64_MAX"),
}


@needs_cc
def test_numbers_of_every_type(tmp_path: Path):
    """They are passed by value, and get back as they were."""
    same = [f"func.func @same_{t}(%x: {t}, %y: {t}) -> ({t}, {t}) {{ func.return %y, %x : {t}, {t} }}" for t in KINDS]
    build_object("\n".join(same), tmp_path / "model.o")
    calls = "".join(
        f"""  {{
    const {kind} given[3] = {{{numbers}}};
    {kind} found[3];
    for (i = 0; i < 2; ++i) {{
      if (model_same_{t}(given[i], given[i + 1], found + i + 1, found + i)) return 1;
      if (memcmp(given + i, found + i, 2 * sizeof *found)) return 1;
    }}
    printf("{t} ");
  }}
"""
        for t, (kind, numbers) in KINDS.items()
    )
    source = f'#include "model.h"\n#include <stdio.h>\nint main(void) {{\n  int i;\n{calls}  return 0;\n}}\n'
    assert run_c(tmp_path, source, "model.o").split() == list(KINDS)


@needs_cc
def test_numbers_among_arrays(tmp_path: Path):
    """An index that is a size is not passed again, nor is one that follows from sizes."""
    build_object(NUMBERS, tmp_path / "model.o")
    source = r"""
#include "model.h"
#include <stdio.h>
int main(void) {
  const float x[3] = {1, -2, 3};
  float t = 0, y[3], z[4];
  int64_t m = 0, v = 0;
  int32_t sevens[4] = {0, 0, 0, 0};
  model_next_arrays arrays;
  printf("%d ", model_scaled(3, x, 1.5f, 40, &t, y, &m));
  printf("%g %g %g %g %d\n", (double)t, (double)y[0], (double)y[1], (double)y[2], (int)m);
  printf("%d ", model_made(3, -5, sevens, &v));
  printf("%d %d %d\n", sevens[2], sevens[3], (int)v);
  printf("%d %d ", model_made(-1, 0, sevens, &v), model_made(INT64_MAX, 0, sevens, &v));
  printf("%d\n", (int)v);
  if (model_next_check(3, &arrays) || arrays.result_0.bytes != sizeof z) return 1;
  printf("%d ", model_next(3, x, z, &m));
  printf("%d %g %d\n", (int)arrays.k, (double)z[3], (int)m);
  return 0;
}
"""
    assert run_c(tmp_path, source, "model.o").splitlines() == ["0 3 1 0 3 43", "0 7 0 -5", "1 1 -5", "0 4 3 4"]


STRANGE = """
func.func @int(%x: tensor<?xf32> {relex.name = "int", relex.dims = ["arrays"]},
               %y: tensor<?xf32> {relex.name = "arrays", relex.dims = ["wrong"]},
               %z: tensor<2xf32> {relex.name = "a b*/"},
               %u: tensor<?xf16> {relex.name = "", relex.dims = ["wrong"]}) -> tensor<2xf32> {
  func.return %z : tensor<2xf32>
}
func.func @a.b(%x: tensor<2xf32> {relex.name = "x"}, %y: tensor<2xf32> {relex.name = "x"},
               %z: tensor<2xf32> {relex.name = "x_array"}) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @names(%x: f32 {relex.name = "memcpy"}, %y: tensor<2xf32> {relex.name = "int64_t"},
                 %z: i1 {relex.name = "frame"}, %u: index {relex.name = "NULL"}) -> (i1, tensor<2xf32>) {
  func.return %z, %y : i1, tensor<2xf32>
}
func.func @a_b(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @a_b_check(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
"""


@needs_cc
def test_any_name_becomes_one_of_c(tmp_path: Path):
    build_object(STRANGE, tmp_path / "1 strange.o")
    source = r"""
#include "1 strange.h"
#include <stdio.h>
int main(void) {
  float x[2] = {1, 2}, y[2] = {3, 4}, z[2];
  uint16_t u[1] = {0};
  bool b = false;
  printf("%d", _1_strange_int(1, 1, x, x, y, u, z));
  printf("%g", (double)z[1]);
  printf("%d", _1_strange_a_b(x, y, y, z) + _1_strange_a_b1(x, z) + _1_strange_a_b_check1(x, z));
  printf("%g", (double)z[1]);
  printf("%d", _1_strange_names(1.0f, y, true, 5, &b, z));
  printf("%g%d", (double)z[1], b);
  return 0;
}
"""
    assert run_c(tmp_path, source, "1 strange.o") == "0402041"


# Threads

PARALLEL = """
func.func @main(%x: tensor<?xf64> {relex.dims = ["n"]}) -> tensor<?xf64> {
  %0 = relex.exp %x : (tensor<?xf64>) -> tensor<?xf64>
  func.return %0 : tensor<?xf64>
}
"""
EXPONENTIALS = r"""
#include "model.h"
#include <stdio.h>
#define SIZE 200000
static double x[SIZE], y[SIZE];
int main(void) {
  int i, round;
  for (i = 0; i < SIZE; ++i) x[i] = (double)i / SIZE;
  for (round = 0; round < 20; ++round) if (model_main(SIZE, x, y)) return 1;
  for (i = 0; i < SIZE; i += 999) printf("%a\n", y[i]);
  return 0;
}
"""
TOGETHER = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void _relex_parallel(void (*chunk)(void *, int64_t, int64_t), void *frame, int64_t first, int64_t last);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static pthread_t seen[256];
static int wanted, count;
/* Every thread waits for all others at its first chunk, but for the one that begins a loop to measure it. */
static void run(void *frame, int64_t first, int64_t last) {
  int i;
  *(int64_t *)frame += 0 * last;
  if (first == 0) {
    usleep(1000);
    return;
  }
  pthread_mutex_lock(&lock);
  for (i = 0; i < count; ++i) if (pthread_equal(seen[i], pthread_self())) break;
  if (i == count) {
    seen[count++] = pthread_self();
    pthread_cond_broadcast(&all);
    while (count < wanted) pthread_cond_wait(&all, &lock);
  }
  pthread_mutex_unlock(&lock);
}
static void share(void) {
  int64_t frame = 0;
  count = 0;
  _relex_parallel(run, &frame, 0, 100);
  printf("%d\n", count);
  fflush(stdout);
}
int main(int argc, char **argv) {
  pid_t child;
  int status;
  wanted = argc > 1 ? atoi(argv[1]) : 1;
  share();
  child = fork();
  if (child == 0) {
    share();
    exit(0);
  }
  waitpid(child, &status, 0);
  share();
  return status;
}
"""


def run_with_threads(program: Path, *arguments: str, threads: str) -> tuple[str, str]:
    """What a program prints, on both streams."""
    environment = {**os.environ, "RELEX_NUM_THREADS": threads}
    run = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=True, timeout=600, env=environment
    )
    return run.stdout, run.stderr


@needs_threads
def test_threads_share_loops(tmp_path: Path):
    """As many as the environment asks for take part; so do they in a forked process, and all end with it."""
    build_object(PARALLEL, tmp_path / "model.o", threads=True)
    compile_c(tmp_path, TOGETHER, "relex_threads.o", "-lpthread", "-o", "main")
    assert run_with_threads(tmp_path / "main", "3", threads="3") == ("3\n" * 3, "")
    # The only one runs all at once.
    assert run_with_threads(tmp_path / "main", "1", threads="1") == ("0\n" * 3, "")
    _, error = run_with_threads(tmp_path / "main", threads="many")
    assert error == "relex: expected RELEX_NUM_THREADS of 1 to 256, found 'many'\n"


@needs_threads
def test_loops_of_objects_are_shared(tmp_path: Path):
    """Linked alone, an object runs them in the calling thread; two objects have one pool."""
    for name in ("model", "other"):
        build_object(PARALLEL, tmp_path / f"{name}.o", threads=True)
    compile_c(tmp_path, EXPONENTIALS, "model.o", "-lm", "-o", "serial")
    compile_c(tmp_path, EXPONENTIALS, "model.o", "other.o", "relex_threads.o", "-lm", "-lpthread", "-o", "shared")
    printed = run_with_threads(tmp_path / "serial", threads="3")
    assert printed == run_with_threads(tmp_path / "shared", threads="3")
    expected = np.exp(np.arange(0, 200_000, 999) / 200_000)
    assert [float.fromhex(text) for text in printed[0].split()] == pytest.approx(expected)
    for program, kind in (("serial", "W"), ("shared", "t")):
        command = ["nm", program]
        symbols = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert f" {kind} _relex_parallel\n" in symbols


@needs_threads
def test_threads_end_with_a_shared_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A thread that sleeps in code that is unloaded could not wake up."""
    build_object(PARALLEL, tmp_path / "model.o", threads=True)
    library = EXPONENTIALS.replace("int main(void)", "int compute(void);\nint compute(void)").replace(
        "printf", "(void)"
    )
    compile_c(tmp_path, library, "model.o", "relex_threads.o", "-fPIC", "-shared", "-lm", "-lpthread", "-o", "model.so")
    source = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
  int round;
  for (round = 0; round < 3; ++round) {
    void *library = dlopen("./model.so", RTLD_NOW);
    int (*compute)(void) = library ? (int (*)(void))dlsym(library, "compute") : NULL;
    if (!compute || compute() || dlclose(library)) return 1;
    printf("%s\n", dlopen("./model.so", RTLD_NOW | RTLD_NOLOAD) ? "loaded" : "gone");
  }
  return 0;
}
"""
    compile_c(tmp_path, source, "-ldl", "-o", "main")
    monkeypatch.chdir(tmp_path)
    assert run_with_threads(tmp_path / "main", threads="3") == ("gone\n" * 3, "")


CMAKE = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))


@needs_threads
@pytest.mark.skipif(CMAKE is None or not shutil.which("make"), reason="needs cmake and make")
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_programs_built_by_cmake(tmp_path: Path):
    """The example builds its programs from MLIR, and builds them again when that has changed."""
    assert CMAKE is not None
    shutil.copytree(EXAMPLE, tmp_path / "example")
    model, build_folder = tmp_path / "example" / "model.mlir", tmp_path / "build"
    warnings = [f"-DCMAKE_{language}_FLAGS=-Wall -Wextra -Werror" for language in ("C", "CXX")]
    where = ["-S", str(tmp_path / "example"), "-B", str(build_folder), f"-DRELEX_RUN={tool('relex-run')}"]
    printed: list[str] = []
    for _ in range(2):
        for command in ([CMAKE, *where, *warnings], [CMAKE, "--build", str(build_folder)]):
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            assert run.returncode == 0, run.stdout
        in_c, in_cpp = (run_with_threads(build_folder / f"predict_{name}", threads="2")[0] for name in ("c", "cpp"))
        assert in_c == in_cpp
        printed.append(in_c)
        model.write_text(model.read_text().replace("[4.0, 0.0]", "[0.0, 0.0]"))
    # What exp(4), 1 and exp(-4), and then 1, 1 and exp(-4), are of their sums.
    assert [text.splitlines()[0] for text in printed] == ["(1, 0): 0.982 0.018 0.000", "(1, 0): 0.495 0.495 0.009"]
    assert len(printed[0].splitlines()) == 4


# The check of sizes, by itself


def checker(folder: Path, signature: Signature) -> Callable[..., tuple[int, list[int]]]:
    """The function of the header that checks sizes, as one that returns what it says and the sizes that it finds."""
    # A library that is loaded must stay as it is.
    folder = folder / str(len(list(folder.iterdir())))
    folder.mkdir()
    names = CNames("m", [signature], [])
    (folder / "m.h").write_text(c_header(names, [signature], [], Target("c")))
    sizes = ", ".join(f"int64_t s{i}" for i in range(len(signature.names)))
    arguments = "".join(f"s{i}, " for i in range(len(signature.names)))
    (folder / "m.c").write_text(f"""
#include "m.h"
#include <string.h>
int check({sizes}, int64_t *found);
int check({sizes}, int64_t *found) {{
  m_f_arrays arrays;
  int status;
  memset(&arrays, 0, sizeof arrays);
  status = m_f_check({arguments}&arrays);
  memcpy(found, &arrays, sizeof arrays);
  return status;
}}
""")
    command = [
        "cc",
        *FLAGS,
        "-fPIC",
        "-shared",
        "-fsanitize=undefined",
        "-fsanitize-undefined-trap-on-error",
        "m.c",
        "-o",
        "m.so",
    ]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    function = ctypes.CDLL(str(folder / "m.so")).check
    words = sum(len(spec.shape) + 1 for spec in (*signature.inputs, *signature.outputs))

    def check(*values: int) -> tuple[int, list[int]]:
        found = (ctypes.c_int64 * words)()
        return function(*map(ctypes.c_int64, values), found), list(found)

    return check


def function_of(
    shapes: Sequence[tuple[Size, ...]], requirements: Sequence[Requirement] = (), memory: Size = 0
) -> Signature:
    """One with two arguments, of the sizes n and m, and results of these shapes."""
    inputs = [TensorSpec(name, (named(name),), "i8") for name in ("n", "m")]
    outputs = [TensorSpec("result", shape, "i8") for shape in shapes]
    return Signature("f", tuple(inputs), tuple(outputs), False, tuple(requirements), (memory,))


@needs_cc
def test_what_sizes_are_refused(tmp_path: Path):
    n, m = named("n"), named("m")
    check = checker(tmp_path, function_of([(n + m, n - m)], [Requirement(m, "<=", n)], n * 4096))
    assert check(3, 1) == (OK, [3, 3, 1, 1, 4, 2, 8])
    assert check(0, 0) == (OK, [0, 0, 0, 0, 0, 0, 0])
    assert check(1, 3)[0] == WRONG_SIZES
    assert check(-1, -2)[0] == WRONG_SIZES
    assert check(2**63 - 1, 1)[0] == WRONG_SIZES
    assert check(MAX_ARGUMENT_SIZE, 1)[0] == TOO_LARGE
    assert check(2**45, 0)[0] == TOO_LARGE
    assert check(2**12, 0)[0] == OK
    # Arrays of these sizes could be; what is computed on the way could not.
    assert checker(tmp_path, function_of([(1,)], memory=n * m))(2**40, 2**22)[0] == OUT_OF_MEMORY
    assert checker(tmp_path, function_of([(1,)], memory=n * m))(2**40, 2**40)[0] == TOO_LARGE


def random_size(random: Random, depth: int) -> Size:
    if depth == 0:
        return random.choice([named("n"), named("m"), random.randint(-9, 9)])
    lhs, rhs = random_size(random, depth - 1), random_size(random, depth - 1)
    match random.randrange(6):
        case 0 | 1:
            return lhs + rhs
        case 2:
            return lhs - rhs
        case 3:
            return lhs * rhs
        case 4:
            return (smaller if random.random() < 0.5 else larger)(lhs, rhs)
        case _:
            return lhs // random.randint(1, 9)


@needs_cc
@pytest.mark.parametrize("seed", range(3))
def test_sizes_are_those_of_python(seed: int, tmp_path: Path):
    random = Random(seed)
    sizes = [random_size(random, 3) for _ in range(60)]
    check = checker(tmp_path, function_of([(size,) for size in sizes]))
    for largest in (10, 2**57):
        for _ in range(100):
            values = {name: random.choice([0, 1, 2, 3, 10, largest - 1, largest]) for name in ("n", "m")}
            expected = [evaluate(size, values) for size in sizes]
            status, found = check(values["n"], values["m"])
            if largest == 10 or status == OK:
                assert status == (WRONG_SIZES if min(expected) < 0 else OK)
                assert found[4::2] == expected
            assert status != OK or max(expected) <= MAX_ARGUMENT_SIZE


# What is refused


def test_wrong_programs_and_files(tmp_path: Path):
    with pytest.raises(RelexError, match=r"model\.so: expected the name of an object file to end with \.o"):
        build_object(PROGRAM, tmp_path / "model.so")
    with pytest.raises(RelexError, match=r"model\.o: cannot be written"):
        build_object(PROGRAM, tmp_path / "none" / "model.o")
    with pytest.raises(CompileError, match=r"1:21: error: .*\n.*nonsense"):
        build_object("func.func @main() { nonsense }", tmp_path / "model.o")
    assert list(tmp_path.iterdir()) == []


def test_for_another_machine(tmp_path: Path):
    build_object(PROGRAM, tmp_path / "model.o", target=Target("aarch64-unknown-linux-gnu", "cortex-a72"))
    assert "for aarch64-unknown-linux-gnu, cpu cortex-a72." in (tmp_path / "model.h").read_text()
    # An ELF file, whose machine stands at byte 18.
    assert (tmp_path / "model.o").read_bytes()[18:20] == b"\xb7\0"


def test_sizes_that_depend_on_elements(tmp_path: Path):
    """One in the middle is not seen outside."""
    build_object(
        """
        func.func @main(%x: tensor<?xf32>) -> tensor<i64> {
          %y = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
          %s = relex.sum %y : (tensor<?x1xi64>) -> tensor<i64>
          func.return %s : tensor<i64>
        }
        """,
        tmp_path / "model.o",
    )
    assert "allocate," not in (tmp_path / "model.h").read_text().partition("/* main(")[2]
