"""Object files for other machines: the operators give the same bits there, and call nothing that is not there."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from dynamic_programs import opened
from machines import MACHINES, Machine, environment
from operator_cases import CASES, DIVISIONS, NARROW, ROUNDINGS, TRIGONOMETRY, UNARY
from operator_checks import all_of
from programs import Array, MakeOperator, operator_module, operator_of, tensor_of
from started import tool, tools
from test_c_export import PARALLEL, TOGETHER
from test_operator_cases import assert_all_close, wide
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute

from relex.dialects.dtypes import is_float_dtype
from relex.dialects.relex import DenseBlockRowsOp, DenseBlocksOp, FloorModOp, LookUpOp, MaxOp, MinOp, PowerOp
from relex.dialects.reserved import MATH, MEMORY, functions_of
from relex.dialects.target.target_attribute import Target, set_target
from relex.lowering.llvm.convert_math_to_libm import FUNCTIONS
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.runtime import build, build_object

Results = Sequence[Array]


class Case(NamedTuple):
    """An operator on operands, in a function that takes arguments of these types."""

    make: MakeOperator
    operands: list[Array]
    types: Sequence[TensorType[Attribute]]

    @classmethod
    def of(cls, make: MakeOperator, operands: list[Array]) -> Case:
        """The case as it is in the table."""
        return cls(make, operands, [tensor_of(array) for array in operands])

    @property
    def opened(self) -> Case:
        """The case with sizes that are known when it is called, as many as the operator takes."""
        return self._replace(types=opened(self.make, self.operands))

    def __str__(self) -> str:
        return f"{operator_of(self.make).__name__} on {', '.join(map(str, self.types))}"


class Known(NamedTuple):
    """A case, and what this process computes."""

    case: Case
    results: Results
    sizes: Sequence[int] = ()
    """What is passed before the arrays."""

    is_exact: bool = False
    """Whether no results depend on the C library."""

    late: Sequence[int] = ()
    """The numbers of results whose sizes the call finds out."""


ROOT = Path(__file__).parents[3]

EXACT = functions_of("ceil fabs floor fma fmax fmin fmod ldexp nearbyint rint round sqrt trunc".split())
"""Functions of the C library that give the same bits everywhere."""

C99 = MATH - {"exp10", "roundeven", "sincos"}
"""The functions of floats that every C library has."""

HERE = MACHINES["x86-64"].target if Target.host().triple.startswith("x86_64-") else None
"""What stands for this machine: on x86-64, what all of its processors have."""


def available(name: str) -> Machine:
    """A machine that programs can be linked for and run on; without, the test is skipped."""
    if missing := MACHINES[name].missing():
        pytest.skip(f"needs {missing}: see 'make targets'")
    return MACHINES[name]


def first_of_each(cases: Iterable[Case]) -> list[Case]:
    """The first case of each operator."""
    return list({operator_of(case.make): case for case in reversed(list(cases))}.values())


WIDE = [Case.of(*case) for case in CASES]
HALF = [Case.of(*case) for case in NARROW]


def program(cases: Sequence[Case]) -> ModuleOp:
    """A function for each case: @case_0, @case_1, and so on."""
    functions: list[func.FuncOp] = []
    for i, case in enumerate(cases):
        (function,) = operator_module(case.make, case.types).ops
        assert isinstance(function, func.FuncOp)
        function.detach()
        function.sym_name = StringAttr(f"case_{i}")
        functions.append(function)
    return ModuleOp(functions)


DRIVER = """\
#include "cases.h"
#include <stdio.h>

static uint64_t space[8][{words}];
static void *late[8];
static int64_t shape[8];

static void take(int place, size_t bytes) {{
  if (fread(space[place], 1, bytes, stdin) != bytes) exit(1);
}}

static int failed(int number) {{
  fprintf(stderr, "@case_%d failed\\n", number);
  return 1;
}}

int main(void) {{
{calls}  return 0;
}}
"""
"""Reads the arguments of all calls, and writes their results, one after the other. A call that fails ends it."""


def driver(cases: Sequence[Known]) -> str:
    """A program in C that calls all functions of a program."""
    calls = ""
    for i, known in enumerate(cases):
        operands = known.case.operands
        calls += "".join(f"  take({place}, {array.nbytes});\n" for place, array in enumerate(operands))
        results = [place for place in range(len(known.results)) if place not in known.late]
        passed = [*range(len(operands)), *(len(operands) + place for place in results)]
        places = [f"(void *)space[{place}]" for place in passed]
        places += [text for place in known.late for text in (f"(void *)&late[{place}]", "shape")]
        places += ["NULL", "NULL"] if known.late else []
        calls += (
            f"  if (cases_case_{i}({', '.join([*map(str, known.sizes), *places])}) != RELEX_OK) return failed({i});\n"
        )
        for place, array in enumerate(known.results):
            where = f"late[{place}]" if place in known.late else f"space[{len(operands) + place}]"
            calls += f"  fwrite({where}, 1, {array.nbytes}, stdout);\n"
    words = max(array.nbytes for known in cases for array in (*known.case.operands, *known.results)) // 8 + 1
    return DRIVER.format(words=words, calls=calls)


def computed_on(machine: Machine, cases: Sequence[Known], folder: Path, *, strict: bool) -> list[Results]:
    """What cases give on a machine."""
    build_object(program([known.case for known in cases]), folder / "cases.o", strict=strict, target=machine.target)
    (folder / "main.c").write_text(driver(cases))
    given = b"".join(array.tobytes() for known in cases for array in known.case.operands)
    printed = machine.run(machine.link(folder, "main.c", "cases.o", "-lm"), given)
    assert len(printed) == sum(array.nbytes for known in cases for array in known.results)
    stream = BytesIO(printed)

    def read(array: Array) -> Array:
        return np.frombuffer(stream.read(array.nbytes), array.dtype).reshape(array.shape)

    return [[read(array) for array in known.results] for known in cases]


def same_bits(found: Array, wanted: Array) -> bool:
    """Whether two arrays hold the same bits. NaN is NaN: machines make up its bits in different ways."""
    differ = np.frombuffer(found.tobytes(), np.uint8) != np.frombuffer(wanted.tobytes(), np.uint8)
    elements = differ.reshape(*found.shape, found.itemsize).any(axis=-1)
    if is_float_dtype(wanted.dtype):
        elements &= ~(np.isnan(wide(found)) & np.isnan(wide(wanted)))
    return not elements.any()


def differing(cases: Sequence[Known], found: Sequence[Results], wanted: Sequence[Results]) -> list[str]:
    """The cases whose results differ, with both."""
    return [
        f"{known.case}: {one} is not {other}"
        for known, *results in zip(cases, found, wanted, strict=True)
        for one, other in zip(*results, strict=True)
        if not same_bits(one, other)
    ]


def inexact(core: ModuleOp) -> frozenset[int]:
    """The cases that call functions of the C library whose results depend on the library."""
    functions = {op.sym_name.data: op for op in core.ops if isinstance(op, func.FuncOp)}

    def calls_any(name: str) -> bool:
        ops = list(functions[name].walk())
        if any(FUNCTIONS.get(type(op), "fabs") not in EXACT for op in ops):
            return True
        return any(calls_any(op.callee.root_reference.data) for op in ops if isinstance(op, func.CallOp))

    return frozenset(
        int(name.removeprefix("case_")) for name in functions if name.startswith("case_") and calls_any(name)
    )


TIES = [Case.of(make, [np.array([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, np.nan], np.float32)]) for make in ROUNDINGS]
"""Numbers between two integers, for which machines have other instructions, or none."""


def sample(places: slice) -> list[Case]:
    """Some places of: each operator once, and some with dynamic sizes; and all that depend on the machine: operators on
    narrow floats, roundings, extremes, and look-ups."""
    once = first_of_each(WIDE)
    cases = [*once, *(case.opened for case in once[::8])]
    chosen = range(len(cases))[places]
    found = [case for i, case in enumerate(cases) if i in chosen or operator_of(case.make) in (MaxOp, MinOp)]
    look_ups = [
        case
        for case in WIDE
        if operator_of(case.make) in (DenseBlockRowsOp, DenseBlocksOp, LookUpOp) and case not in found
    ]
    return [*found, *look_ups, *TIES, *HALF[0::4], *HALF[3::4]]


def computed_here(cases: Sequence[Case], strict: bool) -> list[Known]:
    """Compute cases on this machine."""
    module = program(cases)
    if HERE is not None:
        set_target(module, HERE)
    core = RelexPipelinePass("core", strict)(module)
    executable = build(core, strict=strict, cache=False)
    depending = inexact(core)
    found: list[Known] = []
    for i, case in enumerate(cases):
        function = executable[f"case_{i}"]
        results = [array.copy() for array in all_of(function(*case.operands))]
        sizes = [case.operands[k].shape[dimension] for k, dimension in function.signature.names.values()]
        found.append(Known(case, results, sizes, i not in depending, function.signature.late))
    return found


SAMPLE = {"aarch64": slice(0, None, 2), "riscv64": slice(1, None, 4), "wasm32-simd": slice(1, None, 2)}
"""The machines that run cases without `--full`, and which ones: each case on one, unless its code depends on the
machine. The others' code is much like the code of one of these."""


@pytest.mark.parametrize("strict", [True, pytest.param(False, marks=pytest.mark.full)], ids=["strict", "fast"])
@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.full) for name in MACHINES]
)
def test_operators_give_the_same_bits(
    name: str, strict: bool, tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but functions of the C library, which are not the same in all of them."""
    machine = available(name)
    monkeypatch.delenv("RELEX_VERIFY", raising=False)
    full = bool(pytestconfig.getoption("--full"))
    chosen = [*WIDE, *HALF, *TIES, *(case.opened for case in WIDE)] if full else sample(SAMPLE[name])
    cases = computed_here(chosen, strict)
    found = computed_on(machine, cases, tmp_path, strict=strict)
    exact = [i for i, known in enumerate(cases) if strict and known.is_exact]
    assert bool(exact) == strict
    assert not differing([cases[i] for i in exact], [found[i] for i in exact], [cases[i].results for i in exact])
    for results, known in zip(found, cases, strict=True):
        assert_all_close(results, known.results, known.results)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "fast"])
@pytest.mark.parametrize("name", ["x86-64", "aarch64", "riscv64"])
@pytest.mark.sampled(diagonals=1)
def test_nothing_is_called_that_c_has_not(
    name: str, strict: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No functions of GNU or of C23, and no helpers of a compiler for arithmetic that the machine lacks."""
    monkeypatch.delenv("RELEX_VERIFY", raising=False)
    wanted = {*UNARY, *TRIGONOMETRY, *ROUNDINGS, *DIVISIONS, FloorModOp, PowerOp}
    cases = [*(case for case in WIDE if operator_of(case.make) in wanted), *first_of_each(HALF)]
    build_object(program(cases), tmp_path / "cases.o", strict=strict, target=MACHINES[name].target)
    assert undefined((tmp_path / "cases.o").read_bytes()) <= MEMORY | functions_of(C99)


def undefined(code: bytes) -> set[str]:
    """The symbols that an object file, in ELF with 64 bits, does not define."""
    (sections,) = struct.unpack_from("<Q", code, 40)
    (count,) = struct.unpack_from("<H", code, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, sections + 64 * i) for i in range(count)]
    names: set[str] = set()
    for _, kind, _, _, offset, size, link, _, _, _ in headers:
        if kind == 2:  # A symbol table; `link` is the section of its names.
            for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", code[offset : offset + size]):
                begin = headers[link][4] + name
                names |= {code[begin : code.index(0, begin)].decode()} if section == 0 else set()
    return names - {""}


@pytest.mark.parametrize("name", MACHINES)
def test_objects_by_the_tool(name: str, tmp_path: Path) -> None:
    """`--emit obj` writes what the machine's linker reads."""
    target = MACHINES[name].target
    (tmp_path / "x.mlir").write_text(
        "func.func @f(%x: tensor<2xf16>) -> tensor<2xf16> { func.return %x : tensor<2xf16> }"
    )
    command = [tool("relex-run"), "x.mlir", "--target", f"{target.triple}::{target.features}", "--emit", "obj"]
    subprocess.run([*command, "--output", "x.o"], cwd=tmp_path, check=True)
    code = (tmp_path / "x.o").read_bytes()
    assert code[18:20] == ELF_MACHINES[name] if name in ELF_MACHINES else code[:4] == b"\0asm"


ELF_MACHINES = {"x86-64": b"\x3e\0", "aarch64": b"\xb7\0", "riscv64": b"\xf3\0"}


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands and its Python print what stands after them."""
    if missing := " and ".join(filter(None, (MACHINES[name].missing() for name in SAMPLE))):
        pytest.skip(f"needs {missing}: see 'make targets'")
    page = (ROOT / "docs" / "targets.md").read_text()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tools()}{os.pathsep}{Path(sys.executable).parent}", prepend=os.pathsep)
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    printed = ""
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if language == "c":
            assert text in (ROOT / "examples" / "cross" / "digits.c").read_text()
        elif language == "text":
            assert printed == text
        elif "pip install" not in text:
            command = ["sh", "-ec", text] if language == "sh" else [sys.executable, "-W", "error", "-c", text]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stderr
            printed = run.stdout


GRAM = """
func.func @gram(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}) -> (tensor<?xf32>, tensor<?x3xf32>) {
  %0 = relex.permute_dims %x : (tensor<?x3xf32>) -> tensor<3x?xf32>
  %1 = relex.matmul %x, %0 : (tensor<?x3xf32>, tensor<3x?xf32>) -> tensor<?x?xf32>
  %2 = relex.sort %1 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %3 = relex.max %2 axis = [1] : (tensor<?x?xf32>) -> tensor<?xf32>
  func.return %3, %x : tensor<?xf32>, tensor<?x3xf32>
}
"""
CALLS = r"""
#include "gram.h"
#include <stdio.h>
static float x[3000], y[1000], z[3000];
int main(void) {
  int i;
  for (i = 0; i < 3000; ++i) x[i] = (float)(i % 7);
  for (i = 10; i <= 100000000; i *= 100) printf("%d ", gram_gram(i, x, y, z));
  printf("%g %g", y[9], z[2999]);
  return 0;
}
"""


def test_memory_of_32_bits(tmp_path: Path) -> None:
    """Buffers are copied, and intermediate arrays that the machine has no addresses for are refused."""
    machine = available("wasm32")
    build_object(GRAM, tmp_path / "gram.o", target=machine.target)
    (tmp_path / "main.c").write_text(CALLS)
    assert machine.run(machine.link(tmp_path, "main.c", "gram.o")) == b"0 0 3 3 37 3"


@pytest.mark.parametrize("name", ["aarch64", "riscv64"])
def test_threads(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They share a loop in a program that is linked with their object file."""
    machine = available(name)
    build_object(PARALLEL, tmp_path / "model.o", threads=True, target=machine.target)
    # QEMU ends a forked process that starts threads.
    (tmp_path / "main.c").write_text(TOGETHER.partition("int main")[0] + SHARE_TWICE)
    monkeypatch.setenv("RELEX_NUM_THREADS", "3")
    assert machine.run(machine.link(tmp_path, "main.c", "relex_threads.o")) == b"3\n" * 2


SHARE_TWICE = "int main(void) { wanted = 3; share(); share(); return 0; }\n"
