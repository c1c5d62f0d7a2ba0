"""The verifier of modules: every mistake once, and none that is a consequence of another."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, f32
from xdsl.ir import Block, Region

from relex.dialects import CompileError, parse_module, verify_module
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind, LoopKind, PrimFuncOp


def mistakes(text: str) -> list[str]:
    with pytest.raises(CompileError) as error:
        parse_module(text)
    return [diagnostic.message for diagnostic in error.value.diagnostics]


def test_all_mistakes_are_named() -> None:
    found = mistakes("""
        func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
          %0 = relex.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
          %1 = relex.alloc_tensor : tensor<?xf32>
          func.return
        }
    """)
    assert [message.split()[0] for message in found] == ["'relex.add'", "'relex.alloc_tensor'"]


@pytest.mark.parametrize(
    "body",
    [
        "%0 = relex.relu %1 : (tensor<4xf32>) -> tensor<4xf32>\n%1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>",
        "scf.if %c { %0 = relex.relu %1 : (tensor<4xf32>) -> tensor<4xf32> }\n"
        "%1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>",
        "%1 = scf.if %c -> (tensor<4xf32>) { scf.yield %1 : tensor<4xf32> } else { scf.yield %x : tensor<4xf32> }",
        "%1 = relex.relu %1 : (tensor<4xf32>) -> tensor<4xf32>",
    ],
)
def test_values_are_defined_before_their_use(body: str) -> None:
    (message,) = mistakes(f"func.func @f(%c: i1, %x: tensor<4xf32>) {{ {body} func.return }}")
    assert message.endswith("expected operands that are defined before, found a value")


def test_blocks_in_any_order_are_no_mistake() -> None:
    parse_module("""
        func.func @f(%x: f32) -> f32 {
          cf.br ^first
        ^second:
          func.return %y : f32
        ^first:
          %y = arith.negf %x : f32
          cf.br ^second
        }
    """)
    parse_module('"test.op"(%0) : (f32) -> ()\n%0 = "test.op"() : () -> f32')


def test_blocks_end_in_a_terminator() -> None:
    module = ModuleOp([func.FuncOp("f", ([], []), Region(Block()))])
    with pytest.raises(CompileError, match="expected a terminator at the end of its block, found an empty block"):
        verify_module(module)


def test_a_value_that_is_defined_elsewhere_does_not_count() -> None:
    text = 'func.func @f(%y: f32) { func.return }\nfunc.func @g() { "test.op"(%y) : (f32) -> () func.return }'
    with pytest.raises(CompileError, match="2:28: error: value %y is not defined"):
        parse_module(text)


@pytest.mark.parametrize(
    "build",
    [
        lambda: ForOp(8, Region()),
        lambda: ForOp(8, Region(Block())),
        lambda: BlockOp("a", [IterKind.SPATIAL], [], []),
        lambda: BlockOp("a", [IterKind.REDUCE], [8], [], Region(Block([InitOp()]))),
        lambda: BlockOp("a", [], [], [], Region([Block(), Block()])),
        lambda: InitOp(Region()),
        lambda: PrimFuncOp("f", [f32], [f32], Region(Block())),
        lambda: PrimFuncOp("f", [], [], Region()),
    ],
)
def test_ops_that_are_built_wrong_are_refused(build: Callable[[], ForOp | BlockOp | InitOp | PrimFuncOp]) -> None:
    op = build()
    module = ModuleOp([op if isinstance(op, PrimFuncOp) else PrimFuncOp("f", [], [], Region(Block([op])))])
    with pytest.raises(CompileError, match=r"[Ee]xpected"):
        verify_module(module)


def test_built_loops_read_like_parsed_ones() -> None:
    buffer = MemRefType(f32, [4])
    function = PrimFuncOp("f", [f32, IndexType()], [buffer], noalias=True)
    value, count, output = function.args
    inner = ForOp(4)
    block = BlockOp("Y", [IterKind.SPATIAL], [4], [inner.variable])
    block.body.block.add_op(memref.StoreOp.get(value, output, [block.body.block.args[0]]))
    inner.body.block.add_op(block)
    outer = ForOp(count, Region(Block([inner], arg_types=[IndexType()])), kind=LoopKind.PARALLEL, label="o")
    function.body.block.add_op(outer)
    module = ModuleOp([function])
    verify_module(module)
    assert function.outputs == (output,)
    assert function.inputs == (value, count)
    again = parse_module(str(module))
    assert module.is_structurally_equivalent(again)


def test_loops_whose_extent_depends_on_an_outer_one_survive() -> None:
    outer, middle = ForOp(8), ForOp(4)
    middle.body.block.add_op(ForOp(outer.variable))
    outer.body.block.add_op(middle)
    module = ModuleOp([PrimFuncOp("f", [], [], Region(Block([outer])))])
    assert [loop.extent for loop in outer.nest] == [8, 4]
    assert parse_module(str(module)).is_structurally_equivalent(module)


def test_verification_takes_little_time_for_shared_index_arithmetic() -> None:
    # Every sum is used twice: 2**40 paths lead to the first.
    sums = "\n".join(f"%s{i + 1} = arith.addi %s{i}, %s{i} : index" for i in range(40))
    parse_module(f"""
        tir.prim_func @f(%X: memref<?xf32>) outs(%Y: memref<1xf32>) {{
          tir.for %i in (1) {{
            tir.block @Y (%s0: spatial<1> = %i) {{
              {sums}
              %x = memref.load %X[%s40] : memref<?xf32>
              memref.store %x, %Y[%s0] : memref<1xf32>
            }}
          }}
        }}
    """)


DYNAMIC_SIZES = {
    "a size that is known": (
        "%0 = memref.reinterpret_cast %m to offset: [0], sizes: [3, 4], strides: [4, 1] : "
        "memref<4x?xf32> to memref<?x4xf32>",
        "'memref.reinterpret_cast' op expected result type with size = 3 instead of ? in dim = 0",
    ),
    "sizes of a shape": (
        "%0 = tensor.concat dim(0) %t, %t : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<7x?xf32>",
        "'tensor.concat' op result type tensor<7x?xf32> does not match inferred shape (8, ?) static sizes",
    ),
    "a size of a view": (
        "%0 = memref.collapse_shape %m [[0, 1]] : memref<4x?xf32> into memref<8xf32>",
        "'memref.collapse_shape' op expected size ? of dimension 0 of memref<8xf32>, found 8",
    ),
    "another size of a view": (
        "%0 = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 2, 3] : tensor<4x?xf32> into tensor<2x2x3xf32>",
        "'tensor.expand_shape' op expected dimension 1 of collapsed type to be static value of 3",
    ),
    "static sizes of an op": (
        '%0 = "tensor.extract_slice"(%t) <{static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 4, '
        "-9223372036854775808>, static_strides = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> "
        ": (tensor<4x?xf32>) -> tensor<4x?xf32>",
        "'tensor.extract_slice' op the number of dynamic positions passed as values (0) does not match the number of "
        "dynamic position markers (1) in the size arguments",
    ),
    "shapes of an operator": (
        "%0 = relex.add %t, %u : (tensor<4x?xf32>, tensor<3x?xf32>) -> tensor<4x?xf32>",
        "'relex.add' op expected shapes that broadcast, found 4x? and 3x?",
    ),
    "sizes to remove": (
        "%0 = relex.squeeze %t axis = [0, 1] : (tensor<4x?xf32>) -> tensor<f32>",
        "'relex.squeeze' op expected dimensions of size 1 to remove, found 4, ?",
    ),
    "a number that is no size": (
        "%0 = relex.softmax %t axis = -9223372036854775808 : (tensor<4x?xf32>) -> tensor<4x?xf32>",
        "'relex.softmax' op expected an axis in -2..1 for rank 2, found -9223372036854775808",
    ),
}


@pytest.mark.parametrize("case", DYNAMIC_SIZES)
def test_dynamic_sizes_are_question_marks(case: str) -> None:
    body, expected = DYNAMIC_SIZES[case]
    arguments = "%t: tensor<4x?xf32>, %u: tensor<3x?xf32>, %m: memref<4x?xf32>"
    (message,) = mistakes(f"func.func @f({arguments}) {{\n{body}\nfunc.return\n}}")
    assert message == expected
