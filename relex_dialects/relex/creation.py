"""Operators that make tensors from sizes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import NUMBERS, ElementConstr, numpy_dtype, var_tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import Exactness, Operand, Operator
from relex.dialects.relex.properties import IntegerConstr, IntegersConstr, TextsConstr, as_integer, integer
from relex.dialects.relex.size_properties import dynamic_shape, names_of_sizes, shape_for
from relex.dialects.relex.types import SizedType, normalize_axis
from relex.dialects.tir.op_pattern import OpPattern


@declared
class IotaOp(Operator, exactness=Exactness.NUMBERS, moves=True, pattern=OpPattern.ELEMENTWISE):
    """
    The position of each element along the dimension `axis`, by default the first: 0, 1, 2, ... A size of -1 is given by
    an expression in `sizes`, of the sizes of the tensors in `like`: `like0_d1` is dimension 1 of the first one. Nothing
    else of these is used.

    ```mlir
    %i = relex.iota shape = [4] dtype = i64 : () -> tensor<4xi64>
    %j = relex.iota %x shape = [-1, 3] dtype = f32 sizes = ["like0_d0 + 1"] : (tensor<?x4xf32>) -> tensor<?x3xf32>
    ```
    """

    like = var_tensor_operand_def()
    shape = prop_def(IntegersConstr)
    dtype = prop_def(ElementConstr)
    axis = prop_def(IntegerConstr, default_value=integer(0))
    sizes = opt_prop_def(TextsConstr)

    def __init__(
        self,
        *like: Operand,
        shape: Sequence[int],
        dtype: Attribute,
        axis: int = 0,
        sizes: Sequence[str] | None = None,
    ):
        super().__init__(*like, properties={"shape": shape, "dtype": dtype, "axis": axis, "sizes": sizes})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        if (dtype := properties["dtype"]) not in NUMBERS:
            raise InferenceError(f"expected a dtype of numbers, found {dtype}")
        sizes = dynamic_shape(properties, names_of_sizes(operands, first=0))
        if -1 in sizes:
            raise InferenceError("expected an expression in 'sizes' for each size of -1")
        normalize_axis(as_integer(properties["axis"]), len(sizes))
        return SizedType(dtype, sizes)

    def evaluate(self, *operands: Array) -> Array:
        shape = shape_for(self, operands)
        axis = normalize_axis(as_integer(self.axis), len(shape))
        places = np.arange(shape[axis], dtype=np.int64).astype(numpy_dtype(self.dtype))
        return np.broadcast_to(places.reshape([-1, *[1] * (len(shape) - axis - 1)]), shape)
