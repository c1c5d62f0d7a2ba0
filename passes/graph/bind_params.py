"""Bind parameters of a function to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from relex.dialects.array_files.array_files import load_arrays
from relex.dialects.arrays import Array, np
from relex.dialects.dlpack import as_array
from relex.dialects.dtypes import element_type_of
from relex.dialects.errors import DTypeError, ShapeError, UnknownNameError, expect_kind, fail
from relex.dialects.function_arguments import argument_names, replacements
from relex.dialects.relex import CallOp, ConstantOp
from relex.dialects.sizes.attributes import annotate
from relex.dialects.sizes.modules import is_static, sizes_at_entry
from relex.dialects.upstream.hints import isa
from relex.passes.driver.base import RelexPass


@dataclass(frozen=True)
class BindParamsPass(RelexPass):
    """
    Turns arguments of a function into constants: those named in an `.npz`, `.safetensors` or `.pkl` file, or in a
    dictionary of arrays or of tensors with DLPack. The name of an argument is its attribute `relex.name`, else the name
    of its SSA value. Equal arrays become one constant.

    ```mlir
    func.func @main(%x: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %y = relex.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
    // bind-params{file=params.npz}, where the file holds an array b
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %b = relex.constant dense<[0.5, -1.0]> : tensor<2xf32>
      %y = relex.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
    ```

    Raises `UnknownNameError` for names that are not parameters of the function, `ShapeError` and `DTypeError` for
    arrays that do not fit, and `PassError` for a function that other functions call.
    """

    name = "bind-params"

    func: str = "main"
    params: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    file: str | None = None

    def same_call(self, function: Operation, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Bound arguments have their values before the pass, and are gone after it."""
        params = self._load() if isinstance(function, func.FuncOp) and function.sym_name.data == self.func else {}
        named = list(zip(argument_names(function), arguments, strict=True))
        return [params.get(name, value) for name, value in named], [v for name, v in named if name not in params]

    def _load(self) -> dict[str, Any]:
        expect_kind(self.func, str, "the name of a function", f"pass '{self.name}'")
        if self.params is not None:
            expect_kind(self.params, Mapping, "arrays by name as 'params'", f"pass '{self.name}'")
        return {**(load_arrays(self.file) if self.file is not None else {}), **(self.params or {})}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        params = self._load()
        function = _find_function(op, self.func)
        names = argument_names(function)
        for name in params:
            if names.count(name) != 1:
                problem = "no parameter" if name not in names else "more than one parameter"
                raise UnknownNameError(f"@{self.func} has {problem} '{name}'; its parameters are {', '.join(names)}")
            if names.index(name) in replacements(function):
                fail(function, f"overwrites '{name}', so it cannot be bound")
        _bind(function, names, params)


def _find_function(module: ModuleOp, name: str) -> func.FuncOp:
    function = SymbolTable.lookup_symbol(module, name)
    if not isinstance(function, func.FuncOp) or not function.body.blocks:
        found = [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
        raise UnknownNameError(
            f"no function '{name}' to bind parameters of; the module has {', '.join(found) or 'none'}"
        )
    for op in module.walk():
        if isinstance(op, func.CallOp | CallOp) and op.callee.root_reference.data == name:
            fail(op, f"calls @{name}, so its parameters cannot be bound")
    return function


def _bind(function: func.FuncOp, names: list[str], params: Mapping[str, Any]) -> None:
    if not is_static(function):
        # State what the sizes of bound arguments imply for others on the others.
        annotate(function, sizes_at_entry(function))
    block = function.body.block
    place = InsertPoint.at_start(block)
    constants: dict[object, SSAValue] = {}
    kept = [i for i, name in enumerate(names) if name not in params]
    for name, argument in zip(names, list(block.args), strict=True):
        if name not in params:
            continue
        constant = ConstantOp(_check(name, params[name], argument))
        constant.location = function.location
        if constant.value not in constants:
            constants[constant.value] = constant.result
            constant.result.name_hint = argument.name_hint
            Rewriter.insert_op(constant, place)
        argument.replace_all_uses_with(constants[constant.value])
        block.erase_arg(argument)
    inputs = function.function_type.inputs.data
    function.function_type = FunctionType.from_lists([inputs[i] for i in kept], function.function_type.outputs.data)
    if function.arg_attrs is not None:
        attrs = [function.arg_attrs.data[i] for i in kept]
        # As in the parser, there is no attribute if all are empty.
        function.arg_attrs = ArrayAttr(attrs) if any(a.data for a in attrs) else None


def _check(name: str, value: Any, argument: SSAValue) -> Array:
    """Return the array for an argument; fail if it does not fit."""
    expected = argument.type
    if not isa(expected, TensorType):
        raise DTypeError(f"parameter '{name}': expected a tensor to bind, found an argument of type {expected}")
    if not expected.has_static_shape():
        raise ShapeError(f"parameter '{name}': expected a tensor of known shape to bind, found {expected}")
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"parameter '{name}': expected an array without a mask, found a MaskedArray; fill it first")
    try:
        array = as_array(value)
    except DTypeError as e:
        raise DTypeError(f"parameter '{name}': {e}") from e
    if not _has_elements(array, expected.element_type):
        raise DTypeError(f"parameter '{name}': expected elements of {expected.element_type}, found {array.dtype.name}")
    if array.shape != expected.get_shape():
        raise ShapeError(f"parameter '{name}': expected shape {expected.get_shape()}, found {array.shape}")
    return array


def _has_elements(array: Array, element_type: Attribute) -> bool:
    try:
        return element_type_of(array.dtype) == element_type
    except DTypeError:
        return False
