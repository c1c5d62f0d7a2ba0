"""Which LLVM passes a module gets."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.target.code_generators import parsed_ir
from relex.dialects.target.target_attribute import Target, set_target
from relex.lowering.llvm.code_generator import compile_ir
from relex.lowering.llvm.code_generator.compile_ir import (
    CompileJob,
    compile_source,
    is_scheduled,
    optimize_scheduled,
)
from relex.lowering.llvm.split_kernels import SplitKernelsPass
from relex.lowering.llvm.translate import translate
from relex.lowering.relex_pipeline import RelexPipelinePass

LOOP = """
define void @kernel(ptr %x)
{{
.1:
  br label %".2"
.2:
  %i = phi i64 [0, %".1"], [%next, %".3"]
  %more = icmp slt i64 %i, 8
  br i1 %more, label %".3", label %".4"
.3:
  {body}
  %next = add i64 %i, 1
  br label %".2"{annotation}
.4:
  {after}
  ret void
}}

define internal void @"helper"(ptr %x)
{{
.1:
  ret void
}}

declare void @outside(ptr)
"""
ANNOTATED = ", !llvm.loop !1"


@pytest.mark.parametrize(
    ("body", "annotation", "after", "expected"),
    [
        ("", ANNOTATED, "", True),
        ("", "", "", False),
        ('call void @"helper"(ptr %x)', ANNOTATED, "", False),
        ("call void @outside(ptr %x)", ANNOTATED, "", True),
        ("", ANNOTATED, 'call void @"helper"(ptr %x)', True),
    ],
)
def test_modules_with_loops_for_llvm_to_shape(body: str, annotation: str, after: str, expected: bool) -> None:
    assert is_scheduled(LOOP.format(body=body, annotation=annotation, after=after)) is expected


@pytest.mark.parametrize(("cpu", "register"), [("znver4", "zmm"), ("znver3", "ymm")])
def test_unrolled_terms_are_added_in_turns(cpu: str, register: str) -> None:
    """A sum waits for its last term, and memory is read quickest in the order that it has: 2.3 times as fast."""
    source = kernel_of(
        """
        func.func @main(%x: tensor<1x9216xf32>) -> tensor<1x512xf32> {
          %w = relex.constant dense<1.0> : tensor<512x9216xf32>
          %y = relex.dense %x, %w : (tensor<1x9216xf32>, tensor<512x9216xf32>) -> tensor<1x512xf32>
          func.return %y : tensor<1x512xf32>
        }
        """,
        cpu,
    )
    assert is_scheduled(source.text)
    machine = source.machine()
    with parsed_ir(source.text) as parsed:
        parsed.data_layout = str(machine.target_data)
        optimize_scheduled(parsed, machine)
        assembly = machine.emit_assembly(parsed)
    sums = re.findall(rf"vfmadd.*%({register}\d+)$", assembly, re.MULTILINE)
    assert len(sums) > len(set(sums)) > 4
    assert all(a != b for a, b in pairwise(sums))


def test_many_strided_stores_are_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would compare each store with all others, to merge neighbours: 320 stores took 5 s. Every second
    element would be stored in vectors."""
    source = kernel_of("""
    func.func @main(%x: tensor<1x8x40x40xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x120x120xf32> {
      %y = relex.conv2d_transpose %x, %w strides = [3, 3]
          : (tensor<1x8x40x40xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x120x120xf32>
      func.return %y : tensor<1x8x120x120xf32>
    }
    """)
    given: list[str] = []
    llvm: Any = compile_ir.llvm
    set_option: Any = llvm.set_option

    def noted(name: str, text: str) -> None:
        given.append(text)
        set_option(name, text)

    monkeypatch.setattr(llvm, "set_option", noted)
    assert compile_source(source).code
    assert given == ["--combiner-store-merging=false", "--combiner-store-merging=true"]
    given.clear()
    monkeypatch.setattr(compile_ir, "MANY_STORES", 1000)
    assert compile_source(source).code
    assert given == []


def kernel_of(program: str, cpu: str = "znver4") -> CompileJob:
    """Return the LLVM IR of the only kernel of a program."""
    module, target = parse_module(program), Target("x86_64-unknown-linux-gnu", cpu)
    set_target(module, target)
    lowered = SplitKernelsPass()(RelexPipelinePass()(module))
    (kernel,) = [op for op in lowered.ops if isinstance(op, ModuleOp)]
    return CompileJob(translate(kernel, triple=target.triple).text, target, 1)
