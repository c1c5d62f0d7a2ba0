"""The pass keeps what programs compute, for all numbers and sizes."""

import pytest

from my_rule.my_rule import MyRulePass
from relex.dialects import parse_module
from relex.reference import check_pass

PROGRAM = """
func.func @main(%x: tensor<{left}x{type}>, %y: tensor<{right}x{type}>) -> tensor<{left}x{type}> {{
  %0 = relex.negative %y : (tensor<{right}x{type}>) -> tensor<{right}x{type}>
  %1 = relex.add %x, %0 : (tensor<{left}x{type}>, tensor<{right}x{type}>) -> tensor<{left}x{type}>
  func.return %1 : tensor<{left}x{type}>
}}
"""


@pytest.mark.parametrize(("left", "right"), [("4", "4"), ("?x3", "3"), ("2x3", "2x1"), ("0", "1")])
@pytest.mark.parametrize("element_type", ["f32", "f64", "i32"])
def test_results_stay_the_same(left: str, right: str, element_type: str):
    module = parse_module(PROGRAM.format(left=left, right=right, type=element_type))
    assert "relex.subtract" in str(MyRulePass()(module))
    check_pass(MyRulePass(), module)


def test_a_negative_with_other_users_stays():
    module = parse_module("""
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
      %1 = relex.add %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }
    """)
    check_pass(MyRulePass(), module)
    assert "relex.negative" in str(MyRulePass()(module))
