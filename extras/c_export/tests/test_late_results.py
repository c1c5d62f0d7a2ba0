"""Results whose sizes only a call finds out, in C: their memory, and what a call that has failed leaves of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from test_c_export import needs_cc, run_c

from relex.runtime import build_object

PROGRAM = """
func.func @main(%context: tensor<?xf32>, %y: tensor<2xf32>, %first: i64)
    -> (tensor<?x1xi64>, tensor<2xf32>, tensor<?xf32>, i64) {
  %places = relex.nonzero %context : (tensor<?xf32>) -> tensor<?x1xi64>
  %z = relex.add %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %zero = relex.constant dense<0.0> : tensor<f32>
  %c = relex.greater %context, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  %chosen = relex.compress %context, %c : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
  func.return %places, %z, %chosen, %first : tensor<?x1xi64>, tensor<2xf32>, tensor<?xf32>, i64
}
"""

COUNTED = r"""
#include "model.h"
#include <stdio.h>

void *__real_malloc(size_t bytes);
void __real_free(void *pointer);
static int blocks, asked, limit;

void *__wrap_malloc(size_t bytes) {
  ++blocks;
  return __real_malloc(bytes);
}

void __wrap_free(void *pointer) {
  if (pointer != NULL) --blocks;
  __real_free(pointer);
}

/* Gives memory for some results, and then none. */
static void *allocate(void *context, int result, const int64_t *shape, int64_t bytes) {
  printf("%s %d: %d, %d bytes\n", (const char *)context, result, (int)shape[0], (int)bytes);
  return asked++ < limit && bytes ? malloc((size_t)bytes) : NULL;
}

static float x[5] = {1, 0, -3, 0, 5}, none[5], y[2] = {1, 2}, z[2], *chosen;
static int64_t *places, shape[2], kept[1], number;

static int run(const float *given, relex_allocate function) {
  asked = 0;
  return model_main(5, given, y, 7, z, &number, &places, shape, &chosen, kept, function, (void *)"result");
}
"""


@needs_cc
def test_memory_of_results(tmp_path: Path) -> None:
    """It comes from malloc or the caller; a call that fails frees what came from malloc."""
    build_object(PROGRAM, tmp_path / "model.o")
    printed = run_c(
        tmp_path,
        COUNTED
        + r"""
int main(void) {
  int status = run(x, NULL), before;
  printf("%d: %d %d %d, %d %d\n", status, (int)places[0], (int)places[1], (int)places[2], (int)shape[0], (int)shape[1]);
  printf("%g %g of %d, %g %g, %d, %d blocks\n", chosen[0], chosen[1], (int)kept[0], z[0], z[1], (int)number, blocks);
  free(places);
  free(chosen);
  status = run(none, NULL);
  printf("%d: %d %d, ", status, (int)shape[0], (int)kept[0]);
  free(places);
  free(chosen);
  printf("%d blocks\n", blocks);
  limit = 2;
  printf("%d\n", run(x, allocate));
  printf("%d %g, %d blocks\n", (int)places[2], chosen[1], blocks);
  free(places);
  free(chosen);
  printf("%d\n", run(none, allocate));
  limit = 1;
  before = blocks;
  status = run(x, allocate);
  printf("%s, %d block\n", model_main_message(status), blocks - before);
  limit = 0;
  before = blocks;
  status = run(x, allocate);
  printf("%s, %d blocks\n", model_main_message(status), blocks - before);
  return 0;
}
""",
        "model.o",
        "-Wl,--wrap=malloc,--wrap=free",
    )
    assert printed.splitlines() == [
        "0: 0 2 4, 3 1",
        "1 5 of 2, 2 4, 7, 2 blocks",
        "0: 0 0, 0 blocks",
        "result 0: 3, 24 bytes",
        "result 2: 2, 8 bytes",
        "0",
        "4 5, 2 blocks",
        "result 0: 0, 0 bytes",
        "result 2: 0, 0 bytes",
        "0",
        "result 0: 3, 24 bytes",
        "result 2: 2, 8 bytes",
        "expected memory for the bytes of a result of @compress, 1 block",
        "result 0: 3, 24 bytes",
        "expected memory for the bytes of a result of @nonzero, 0 blocks",
    ]


FAILING = """
func.func @main(%x: tensor<?xf32>, %limit: tensor<f32>) -> (tensor<?x1xi64>, tensor<f32>) {
  %places = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
  %most = relex.sum %x : (tensor<?xf32>) -> tensor<f32>
  %fits = relex.less %most, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %first = relex.sum %places : (tensor<?x1xi64>) -> tensor<i64>
  relex.assert %fits, "expected a small sum" index %first : tensor<i1>, tensor<i64>
  func.return %places, %most : tensor<?x1xi64>, tensor<f32>
}
"""


@needs_cc
def test_a_failed_call_keeps_nothing(tmp_path: Path) -> None:
    build_object(FAILING, tmp_path / "model.o")
    source = (
        COUNTED.partition("/* Gives")[0].replace("blocks, asked, limit", "blocks")
        + r"""
int main(void) {
  float x[3] = {1, 0, 2}, limit = 1, most;
  int64_t *places = NULL, shape[2];
  int status = model_main(3, x, &limit, &most, &places, shape, NULL, NULL);
  printf("%s, %d blocks, %d\n", model_main_message(status), blocks, places == NULL);
  limit = 4;
  status = model_main(3, x, &limit, &most, &places, shape, NULL, NULL);
  printf("%d, %d, %d blocks\n", status, (int)places[1], blocks);
  free(places);
  return 0;
}
"""
    )
    printed = run_c(tmp_path, source, "model.o", "-Wl,--wrap=malloc,--wrap=free")
    assert printed.splitlines() == ["expected a small sum, 0 blocks, 1", "0, 2, 1 blocks"]


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_the_header_is_one_of_cpp(tmp_path: Path) -> None:
    build_object(PROGRAM, tmp_path / "model.o")
    (tmp_path / "main.cc").write_text('#include "model.h"\n')
    command = ["c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-c", "main.cc"]
    assert not subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stderr


NUMBERS = """
func.func @main(%n: i64) -> (tensor<?xi64>, i64) {
  %zero = relex.constant dense<0> : tensor<i64>
  %one = relex.constant dense<1> : tensor<i64>
  %end = tensor.from_elements %n : tensor<i64>
  %r = relex.arange %zero, %end, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  func.return %r, %n : tensor<?xi64>, i64
}
"""


@needs_cc
def test_functions_of_numbers_alone(tmp_path: Path) -> None:
    build_object(NUMBERS, tmp_path / "model.o")
    printed = run_c(
        tmp_path,
        r"""
#include "model.h"
#include <stdio.h>

int main(void) {
  int64_t *places, shape[1], same;
  int status = model_main(3, &same, &places, shape, NULL, NULL);
  printf("%d: %d %d %d, %d of %d\n", status, (int)places[0], (int)places[1], (int)places[2], (int)shape[0], (int)same);
  free(places);
  puts(model_main_message(model_main((int64_t)1 << 60, &same, &places, shape, NULL, NULL)));
  return 0;
}
""",
        "model.o",
    )
    message = "'relex.arange' expected a size from 0 to 144115188075855872 as number of length"
    assert printed.splitlines() == ["0: 0 1 2, 3 of 3", message]


HUGE = """
func.func @main(%n: tensor<2xi64>, %x: tensor<f32>) -> tensor<f32> {
  %s = relex.as_sizes %n : (tensor<2xi64>) -> tensor<0x?x?xi1>
  %t = relex.broadcast_to %x like(%s) shape = [-1, -1] sizes = ["like0_d1", "like0_d2"]
      : (tensor<f32>, tensor<0x?x?xi1>) -> tensor<?x?xf32>
  %u = relex.cumsum %t axis = 0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %m = relex.max %u : (tensor<?x?xf32>) -> tensor<f32>
  func.return %m : tensor<f32>
}
"""


@needs_cc
def test_more_than_there_is_memory(tmp_path: Path) -> None:
    """A large buffer in the middle of a call is an error, too, before anything is written to it."""
    build_object(HUGE, tmp_path / "model.o")
    printed = run_c(
        tmp_path,
        r"""
#include "model.h"
#include <stdio.h>

int main(void) {
  const int64_t sizes[3][2] = {{3, 2}, {1 << 11, 1 << 11}, {1ll << 25, 1ll << 25}};
  float one = 1, most;
  for (int i = 0; i < 3; ++i) {
    int status = model_main(sizes[i], &one, &most);
    if (status) {
      puts(model_main_message(status));
    } else {
      printf("%g\n", most);
    }
  }
  return 0;
}
""",
        "model.o",
    )
    assert printed.splitlines() == ["3", "2048", "expected memory for the bytes of a result of @broadcast_to"]


GROWING = """
func.func @main(%x: tensor<?xf32>, %k: index, %most: tensor<f32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%rows = %x) -> (tensor<?xf32>) {
    %more = relex.concat %rows, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %sum = relex.sum %more : (tensor<?xf32>) -> tensor<f32>
    %holds = relex.less %sum, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
    relex.assert %holds, "expected little" : tensor<i1>
    scf.yield %more : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
"""


@needs_cc
def test_memory_of_what_grows(tmp_path: Path) -> None:
    """A thousand trips ask for memory about a dozen times; a call that fails frees it."""
    build_object(GROWING, tmp_path / "model.o")
    printed = run_c(
        tmp_path,
        r"""
#include "model.h"
#include <stdio.h>

void *__real_malloc(size_t bytes);
void __real_free(void *pointer);
static int blocks, asked;

void *__wrap_malloc(size_t bytes) {
  ++blocks, ++asked;
  return __real_malloc(bytes);
}

void __wrap_free(void *pointer) {
  if (pointer != NULL) --blocks;
  __real_free(pointer);
}

int main(void) {
  float x[2] = {1, 2}, most = 1e6f, *rows;
  int64_t shape[1];
  int status = model_main(2, x, 1023, &most, &rows, shape, NULL, NULL);
  printf("%d: %d, %g %g, %d blocks\n", status, (int)shape[0], rows[2046], rows[2047], blocks);
  printf("%d\n", asked < 30);
  free(rows);
  most = 1000;
  status = model_main(2, x, 1023, &most, &rows, shape, NULL, NULL);
  printf("%s, %d blocks\n", model_main_message(status), blocks);
  return 0;
}
""",
        "model.o",
        "-Wl,--wrap=malloc,--wrap=free",
    )
    assert printed.splitlines() == ["0: 2048, 1 2, 1 blocks", "1", "expected little, 0 blocks"]
