"""Loop functions, their local buffers, and calls of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from relex.dialects.dtypes import BUFFER_TYPES, BufferElementConstr
from relex.dialects.errors import WrongOp, name_of, types_str
from relex.dialects.symbols import VerifiesCallee, resolve, verify_unique
from relex.dialects.tir.accesses import accesses, innermost_block
from relex.dialects.tir.blocks import BlockOp
from relex.dialects.tir.loops import ForOp, verify_name
from relex.dialects.tir.op_pattern import verify_op_pattern
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk

NOALIAS_ATTR = "tir.noalias"
"""On a function: no two of its buffers alias."""

STRICT_ATTR = "relex.strict"
"""On a function: sums and products are computed in the order of the loops, and rounded one by one, unless they have
fast-math flags."""

VISIBILITIES = ("public", "private", "nested")

BufferConstr = MemRefType.constr(element_type=BufferElementConstr)


@irdl_op_definition
class PrimFuncOp(IRDLOperation):
    """
    A loop function in destination-passing style: it reads its inputs, which are buffers or scalars, fills the buffers
    declared by `outs`, and returns nothing. `tir.noalias` states that no two buffers alias, `relex.dims` which dynamic
    sizes of buffers are equal: in a public function, it gives the sizes of the outputs.

    Products may be contracted with the sums that they are terms of, and `reduce` variables may run in any order, unless
    the function has the attribute `relex.strict`: `annotate-fast-math` states this by flags.

    ```mlir
    tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
      %zero = arith.constant 0.0 : f32
      tir.for %i in (8) {
        tir.block @Y (%vi: spatial<8> = %i) {
          %x = memref.load %X[%vi] : memref<8xf32>
          %y = arith.maximumf %x, %zero : f32
          memref.store %y, %Y[%vi] : memref<8xf32>
        }
      }
    }
    ```
    """

    name = "tir.prim_func"

    sym_name = prop_def(SymbolNameConstraint())
    sym_visibility = opt_prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    num_outputs = prop_def(IntegerAttr.constr(i64))
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(
        self,
        name: str,
        inputs: Sequence[Attribute],
        outputs: Sequence[Attribute],
        body: Region | None = None,
        *,
        visibility: str | None = None,
        noalias: bool = False,
        arg_attrs: ArrayAttr[DictionaryAttr] | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "sym_visibility": StringAttr(visibility) if visibility else None,
                "function_type": FunctionType.from_lists([*inputs, *outputs], []),
                "num_outputs": IntegerAttr(len(outputs), i64),
                "arg_attrs": arg_attrs,
            },
            attributes={NOALIAS_ATTR: UnitAttr()} if noalias else {},
            regions=[body or Region(Block(arg_types=[*inputs, *outputs]))],
        )

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        """All arguments: inputs, then outputs."""
        return tuple(self.body.block.args)

    @property
    def num_inputs(self) -> int:
        """The number of inputs."""
        return len(self.function_type.inputs) - self.num_outputs.value.data

    @property
    def inputs(self) -> tuple[BlockArgument, ...]:
        """The arguments that are inputs."""
        return self.args[: self.num_inputs]

    @property
    def outputs(self) -> tuple[BlockArgument, ...]:
        """The arguments that are outputs."""
        return self.args[self.num_inputs :]

    @property
    def input_types(self) -> tuple[Attribute, ...]:
        """The types of the inputs."""
        return self.function_type.inputs.data[: self.num_inputs]

    @property
    def output_types(self) -> tuple[Attribute, ...]:
        """The types of the outputs."""
        return self.function_type.inputs.data[self.num_inputs :]

    @property
    def noalias(self) -> bool:
        """True if no two buffers of the function alias."""
        return NOALIAS_ATTR in self.attributes

    @property
    def strict(self) -> bool:
        """True if sums and products have the order and rounding that they are written with."""
        return STRICT_ATTR in self.attributes

    def verify_(self) -> None:
        from relex.dialects.tir.verification import verify_bounds

        verify_name(self.sym_name, "a name")
        types = self.function_type.inputs.data
        if self.function_type.outputs.data:
            raise VerifyException(f"expected no results, found {len(self.function_type.outputs)}; outputs are buffers")
        if not 0 <= self.num_inputs <= len(types):
            raise VerifyException(f"expected at most {len(types)} outputs, found {self.num_outputs.value.data}")
        if tuple(arg.type for arg in self.args) != types:
            raise VerifyException("expected the block's arguments to have the types of the function's inputs")
        if self.sym_visibility is not None and self.sym_visibility.data not in VISIBILITIES:
            found = self.sym_visibility.data
            raise VerifyException(f"expected visibility {' or '.join(VISIBILITIES)}, found {found}")
        if self.arg_attrs is not None and len(self.arg_attrs) != len(types):
            raise VerifyException(f"expected attributes for {len(types)} arguments, found {len(self.arg_attrs)}")
        verify_op_pattern(self)
        for name in (NOALIAS_ATTR, STRICT_ATTR):
            if (value := self.attributes.get(name, UnitAttr())) != UnitAttr():
                raise VerifyException(f"expected '{name}' to have no value, found {value}")
        for i, t in enumerate(types):
            _verify_argument(i, t, is_output=i >= self.num_inputs)
        blocks = ((op, op.block_name) for op in walk(self) if isinstance(op, BlockOp))
        verify_unique("block name that is unique in its function", blocks)
        loops = ((op, op.label) for op in walk(self) if isinstance(op, ForOp) and op.label)
        verify_unique("loop label that is unique in its function", loops)
        for access in accesses(self):
            if access.is_write and access.buffer in self.inputs:
                raise WrongOp(
                    access.op, f"expected to write an output or a local buffer, found {name_of(access.buffer)}"
                )
            if innermost_block(access.op) is None:
                verify_bounds(access)

    @classmethod
    def parse(cls, parser: Parser) -> PrimFuncOp:
        visibility = parser.parse_optional_visibility_keyword()
        name = parser.parse_symbol_name().data
        parse = parser.parse_comma_separated_list
        inputs = parse(Parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        outputs: list[tuple[Parser.Argument, DictionaryAttr]] = []
        if parser.parse_optional_keyword("outs"):
            outputs = parse(Parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "function_type", "num_outputs"))
        arguments = [*inputs, *outputs]
        op = cls(
            name,
            [arg.type for arg, _ in inputs],
            [arg.type for arg, _ in outputs],
            parser.parse_region([arg for arg, _ in arguments]),
            visibility=visibility.data if visibility else None,
            arg_attrs=ArrayAttr(attrs for _, attrs in arguments) if any(a.data for _, a in arguments) else None,
        )
        if attributes is not None:
            op.attributes |= attributes.data
        return op

    def print(self, printer: Printer) -> None:
        if self.sym_visibility:
            printer.print_string(f" {self.sym_visibility.data}")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        attrs = self.arg_attrs.data if self.arg_attrs else (DictionaryAttr({}),) * len(self.args)
        arguments = list(zip(self.args, attrs, strict=True))
        with printer.in_parens():
            printer.print_list(arguments[: self.num_inputs], lambda a: _print_argument(printer, *a))
        if self.outputs:
            printer.print_string(" outs")
            with printer.in_parens():
                printer.print_list(arguments[self.num_inputs :], lambda a: _print_argument(printer, *a))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


def _parse_argument(parser: Parser) -> tuple[Parser.Argument, DictionaryAttr]:
    argument = parser.parse_argument()
    return argument, DictionaryAttr(parser.parse_optional_dictionary_attr_dict())


def _print_argument(printer: Printer, argument: BlockArgument, attrs: DictionaryAttr) -> None:
    printer.print_block_argument(argument)
    printer.print_op_attributes(attrs.data)


def _verify_argument(index: int, t: Attribute, *, is_output: bool) -> None:
    if not isa(t, MemRefType):
        if is_output or t not in (*BUFFER_TYPES, IndexType()):
            raise VerifyException(f"expected {'output' if is_output else 'argument'} {index} to be a buffer, found {t}")
        return
    if t.element_type not in BUFFER_TYPES:
        raise VerifyException(f"expected a buffer of {' or '.join(map(str, BUFFER_TYPES))}, found {t}")
    verify_buffer_type(t)


def verify_buffer_type(t: MemRefType) -> None:
    """Raise `VerifyException` unless a buffer has the identity layout and is in the default memory space."""
    if not isinstance(t.layout, NoneAttr):
        raise VerifyException(f"expected a buffer of identity layout, found {t}")
    if not isinstance(t.memory_space, NoneAttr):
        raise VerifyException(f"expected a buffer in the default memory space, found {t}")


@irdl_op_definition
class AllocBufferOp(IRDLOperation):
    """
    A local buffer of unspecified contents that lives until the end of the enclosing scope, with one size for each `?`
    of its type.

    ```mlir
    %Y = tir.alloc_buffer : memref<1x128xf32>
    %T = tir.alloc_buffer sizes(%n) : memref<?x128xf32>
    ```
    """

    name = "tir.alloc_buffer"

    sizes = var_operand_def(IndexType)
    buffer = result_def(BufferConstr)

    traits = traits_def(MemoryAllocEffect())

    assembly_format = "(`sizes` `(` $sizes^ `)`)? attr-dict `:` type($buffer)"

    def __init__(self, buffer_type: MemRefType, sizes: Sequence[SSAValue | Operation] = ()):
        super().__init__(operands=[sizes], result_types=[buffer_type])

    def verify_(self) -> None:
        buffer_type = self.buffer.type
        expected = list(buffer_type.get_shape()).count(DYNAMIC_INDEX)
        if len(self.sizes) != expected:
            raise VerifyException(f"expected {expected} sizes, one for each '?' of the type, found {len(self.sizes)}")
        verify_buffer_type(buffer_type)


@irdl_op_definition
class CallLoopsOp(IRDLOperation):
    """
    Calls a loop function on buffers: its inputs, then the outputs that it fills.

    ```mlir
    tir.call @relu(%x, %y) : memref<8xf32>, memref<8xf32>
    ```
    """

    name = "tir.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect(), VerifiesCallee())

    assembly_format = "$callee `(` $arguments `)` attr-dict (`:` type($arguments)^)?"

    def __init__(self, callee: str | SymbolRefAttr, arguments: Sequence[SSAValue | Operation]):
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        super().__init__(operands=[arguments], properties={"callee": symbol})

    def verify_callee(self) -> None:
        """Check the call against the signature of the loop function."""
        callee = resolve(self, self.callee, PrimFuncOp)
        found, expected = tuple(self.arguments.types), callee.function_type.inputs.data
        if found != expected:
            raise VerifyException(
                f"expected arguments {types_str(expected)} as {self.callee} has them, found {types_str(found)}"
            )
