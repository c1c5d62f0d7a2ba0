"""Library functions below the graph level: declarations on buffers, with attributes that name the library function.

```mlir
func.func private @library_env.relu_07d2(memref<8xf32>, memref<8xf32>)
    attributes {llvm.emit_c_interface, relex.library = "env.relu", relex.outputs = 1 : i64}
// at the machine level
llvm.func @_mlir_ciface_library_env.relu_07d2(!llvm.ptr, !llvm.ptr)
    attributes {relex.library = "env.relu", relex.outputs = 1 : i64, relex.buffers = [memref<8xf32>, memref<8xf32>]}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from re import sub
from typing import TypeGuard

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, MemRefType, StringAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region

from relex.dialects.dtypes import storage_of
from relex.dialects.errors import fail
from relex.dialects.function_arguments import C_INTERFACE_ATTR
from relex.dialects.upstream.hints import isa

LIBRARY_ATTR = "relex.library"
"""On a declaration: the name of the library function that it stands for."""

OUTPUTS_ATTR = "relex.outputs"
"""On the declaration of a library function: how many of its arguments, the last ones, are outputs."""

BUFFERS_ATTR = "relex.buffers"
"""On the declaration of a library function: the types of its arguments, where the function type does not say them: at
the machine level, and of unsigned integers."""


@dataclass(frozen=True)
class LibraryFunction:
    """The name of a library function, and the types of its buffers: inputs, then outputs to fill."""

    name: str
    inputs: tuple[MemRefType, ...]
    outputs: tuple[MemRefType, ...]

    @property
    def symbol(self) -> str:
        """The symbol of its declaration, unique for each combination of name and types."""
        digest = sha256(repr((self.name, list(map(str, self.inputs)), list(map(str, self.outputs)))).encode())
        return f"library_{sub(r'[^A-Za-z0-9_.]', '_', self.name)}_{digest.hexdigest()[:16]}"

    def declaration(self) -> FuncOp:
        """Return the declaration that stands for it in a module."""
        arrays = [*self.inputs, *self.outputs]
        buffers = [MemRefType(storage_of(t.element_type), t.get_shape(), t.layout, t.memory_space) for t in arrays]
        op = FuncOp(self.symbol, FunctionType.from_lists(buffers, []), Region(), StringAttr("private"))
        if buffers != arrays:
            op.attributes[BUFFERS_ATTR] = ArrayAttr(arrays)
        op.attributes[C_INTERFACE_ATTR] = UnitAttr()
        op.attributes[LIBRARY_ATTR] = StringAttr(self.name)
        op.attributes[OUTPUTS_ATTR] = IntegerAttr(len(self.outputs), i64)
        return op


def library_function(op: Operation) -> LibraryFunction | None:
    """Return the library function that a declaration stands for, if any. Fails if its attributes are malformed."""
    name, outputs = op.attributes.get(LIBRARY_ATTR), op.attributes.get(OUTPUTS_ATTR)
    if name is None:
        return None
    if isa(types := op.attributes.get(BUFFERS_ATTR), ArrayAttr):
        buffers, results = types.data, ()
    elif isinstance(op, FuncOp):
        buffers, results = op.function_type.inputs.data, op.function_type.outputs.data
    else:
        return None
    if not isinstance(name, StringAttr) or op.regions[0].blocks:
        fail(op, f"expected '{LIBRARY_ATTR}' to name a library function, on a function without a body")
    if not _are_buffers(buffers) or results:
        fail(op, f"expected a library function on buffers alone, found {FunctionType.from_lists(buffers, results)}")
    if not isa(outputs, IntegerAttr) or outputs.value.data not in range(len(buffers) + 1):
        fail(op, f"expected '{OUTPUTS_ATTR}' to be a number of 0 to {len(buffers)}, found {outputs}")
    first = len(buffers) - outputs.value.data
    return LibraryFunction(name.data, tuple(buffers[:first]), tuple(buffers[first:]))


def _are_buffers(types: Sequence[Attribute]) -> TypeGuard[Sequence[MemRefType]]:
    return all(isa(t, MemRefType) for t in types)
