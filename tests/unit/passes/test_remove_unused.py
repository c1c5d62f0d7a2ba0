"""What is needed, in places that text rarely has."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from relex.dialects import parse_module, verify_module
from relex.dialects.function_arguments import find_function
from relex.passes import RemoveUnusedPass


def test_a_function_that_the_module_names() -> None:
    module = parse_module("""
        builtin.module attributes {entry = @main} {
          func.func private @main() {
            func.call @helper() : () -> ()
            func.return
          }
          func.func private @helper()
          func.func private @other()
        }""")
    after = str(RemoveUnusedPass()(module))
    assert "private @helper()" in after
    assert "@other" not in after


def test_functions_of_a_module_inside() -> None:
    """They are not looked at, but what they need stays."""
    module = parse_module("""
        builtin.module {
          func.func private @needed()
          builtin.module @inner {
            func.func private @alone() attributes {uses = @needed} {
              func.return
            }
          }
        }""")
    after = str(RemoveUnusedPass()(module))
    assert "@alone" in after
    assert "private @needed()" in after


def test_blocks_in_blocks_of_loops() -> None:
    module = parse_module("""
        func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %r = scf.for %i = %zero to %n step %one iter_args(%y = %x) -> (tensor<4xf32>) {
            %a, %b = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
              %c = relex.exp %y : (tensor<4xf32>) -> tensor<4xf32>
              %d = relex.abs %y : (tensor<4xf32>) -> tensor<4xf32>
              relex.output %c, %d : tensor<4xf32>, tensor<4xf32>
            }
            scf.yield %b : tensor<4xf32>
          }
          func.return %r : tensor<4xf32>
        }""")
    after = str(RemoveUnusedPass()(module))
    assert "relex.exp" not in after
    assert "relex.abs" in after


def test_an_empty_module() -> None:
    assert str(RemoveUnusedPass()(parse_module(""))) == "builtin.module {\n}"


def test_a_function_alone() -> None:
    """As the lessons do it: `relax.analysis.remove_all_unused(function)`."""
    module = parse_module("""
    func.func private @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0, %1 = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
        %2 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        %3 = relex.call @group(%2) : (tensor<4xf32>) -> tensor<4xf32>
        %4 = relex.negative %2 : (tensor<4xf32>) -> tensor<4xf32>
        relex.output %3, %4 : tensor<4xf32>, tensor<4xf32>
      }
      func.return %1 : tensor<4xf32>
    }
    func.func private @group(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
      func.return %x : tensor<4xf32>
    }
    """)
    before = str(module)
    function = find_function(module, "main")
    assert isinstance(function, FuncOp)
    found = RemoveUnusedPass()(function)
    assert found.parent is None
    assert [op.name for op in found.walk()] == [
        "func.func", "relex.dataflow", "relex.relu", "relex.negative", "relex.output", "func.return"
    ]  # fmt: skip
    assert str(module) == before
    function.detach()
    module.body.block.add_op(found)
    verify_module(module)
