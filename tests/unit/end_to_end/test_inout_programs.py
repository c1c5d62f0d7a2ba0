"""Random programs in which results take the place of arguments: however they are run, they leave the same arrays."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from relex.reference import interpret
from relex.runtime import build

T = "tensor<6xf32>"
REVERSED = f"relex.strided_slice {{x}} axes = [0] begin = [-1] end = [-9] strides = [-1] : ({T}) -> {T}"
PUT = f"relex.scatter_nd {{x}}, %at, %q : ({T}, tensor<3x1xi64>, tensor<3xf32>) -> {T}"
SUM = f"relex.add {{x}}, {{y}} : ({T}, {T}) -> {T}"

STEPS = (
    f"{{v}} = {SUM}",
    f"{{v}} = {REVERSED}",
    f"{{v}} = {PUT}",
    f"{{v}} = relex.negative {{x}} : ({T}) -> {T}",
    f"{{v}} = relex.cumsum {{x}} axis = 0 : ({T}) -> {T}",
    f"{{v}} = relex.where %mask, {{x}}, {{y}} : (tensor<6xi1>, {T}, {T}) -> {T}",
    f"""{{v}}_part = relex.strided_slice {{y}} axes = [0] begin = [1] end = [4] : ({T}) -> tensor<3xf32>
    {{v}} = relex.scatter_nd {{x}}, %at, {{v}}_part reduction = "add" : ({T}, tensor<3x1xi64>, tensor<3xf32>) -> {T}""",
    f"""{{v}}_part = relex.strided_slice {{y}} axes = [0] begin = [1] end = [3] : ({T}) -> tensor<2xf32>
    {{v}} = tensor.insert_slice {{v}}_part into {{x}}[2][2][1] : tensor<2xf32> into {T}""",
    f"""{{v}}_rows = relex.reshape {{x}} shape = [2, 3] : ({T}) -> tensor<2x3xf32>
    {{v}} = relex.reshape {{v}}_rows shape = [6] : (tensor<2x3xf32>) -> {T}""",
    *(
        f"""{{v}} = scf.for {{v}}_i = %c0 to %n step %c1 iter_args({{v}}_old = {{x}}) -> ({T}) {{{{
      {{v}}_new = {body.replace("{x}", "{v}_old")}
      scf.yield {{v}}_new : {T}
    }}}}"""
        for body in (SUM, REVERSED, PUT)
    ),
)


def program(random: Random, count: int) -> str:
    values, lines = [f"%a{i}" for i in range(count)], list[str]()
    for number in range(random.randint(1, 7)):
        step = random.choice(STEPS).format(v=f"%v{number}", x=random.choice(values), y=random.choice(values))
        values.append(f"%v{number}")
        lines.append(f"    {step}\n")
    results = random.choices(values, k=random.randint(1, 5))
    replaced = random.sample(range(len(results)), random.randint(1, min(count, len(results))))
    places = dict(zip(random.sample(range(count), len(replaced)), replaced, strict=True))
    attributes = [f" {{relex.inout = {places[i]} : i64}}" if i in places else "" for i in range(count)]
    arguments = ", ".join(f"%a{i}: {T}{attribute}" for i, attribute in enumerate(attributes))
    types = ", ".join([T] * len(results))
    return f"""
  func.func @main({arguments}, %at: tensor<3x1xi64>, %q: tensor<3xf32>, %mask: tensor<6xi1>, %n: index) -> ({types}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
{"".join(lines)}    func.return {", ".join(results)} : {types}
  }}"""


@pytest.mark.parametrize("seed", range(30))
def test_compiled_and_interpreted_calls_leave_the_same_arrays(seed: int) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    count = random.randint(1, 4)
    text = program(random, count)
    arrays = [rng.standard_normal(6).astype(np.float32) for _ in range(count)]
    places = np.array([[1], [4], [random.choice((1, 5, -1))]])
    others = places, rng.standard_normal(3).astype(np.float32), rng.integers(0, 2, 6) > 0, random.randint(0, 3)

    def left(function: Any) -> list[Any]:
        own = [array.copy() for array in arrays]
        returned = function(*own, *others)
        return [*own, *(returned if isinstance(returned, tuple) else [] if returned is None else [returned])]

    for found, wanted in zip(left(build(text)["main"]), left(interpret(text)["main"]), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)
