"""Ops and attributes of the `llvm` dialect that xDSL's does not have.

Their syntax and semantics are the same as in MLIR's. A context has one dialect per name, which is xDSL's: the parser
looks up `MISSING_OPS` itself, and `load_missing_attributes` adds the attributes to a context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IntAttr,
    IntegerType,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.ir import Block, Data, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    RangeOf,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from relex.dialects.upstream.attributes import integer_attr
from relex.dialects.upstream.hints import isa


@irdl_op_definition
class FPToSIOp(llvm.GenericCastOp):
    """
    Converts a float to a signed integer, rounding towards zero. Poison if the value does not fit.

    ```mlir
    %1 = llvm.fptosi %0 : f32 to i32
    ```
    """

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(llvm.GenericCastOp):
    """
    Converts a float to an unsigned integer, rounding towards zero. Poison if the value does not fit.

    ```mlir
    %1 = llvm.fptoui %0 : f32 to i32
    ```
    """

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(llvm.GenericCastOp):
    """
    Converts an unsigned integer to a float.

    ```mlir
    %1 = llvm.uitofp %0 : i32 to f32
    ```
    """

    name = "llvm.uitofp"


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """
    Extracts an element of a vector at an index that may be dynamic. Poison if it is out of bounds.

    ```mlir
    %1 = llvm.extractelement %0[%i : i64] : vector<4xf32>
    ```
    """

    name = "llvm.extractelement"

    ELEMENT: ClassVar = VarConstraint("ELEMENT", AnyAttr())

    vector = operand_def(VectorType.constr(ELEMENT, shape=ArrayAttr.constr(RangeOf(base(IntAttr)).of_length(1))))
    index = operand_def(IntegerType)
    res = result_def(ELEMENT)

    traits = traits_def(NoMemoryEffect())

    assembly_format = "$vector `[` $index `:` type($index) `]` attr-dict `:` type($vector)"

    def __init__(self, vector: SSAValue, index: SSAValue):
        assert isa(vector.type, VectorType)
        super().__init__(operands=[vector, index], result_types=[vector.type.element_type])


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """
    Branches to the block of the case with the given value, or to the default block.

    ```mlir
    llvm.switch %i : i32, ^default(%x : f32) [
      5: ^five,
      7: ^seven(%y : f32)
    ]
    ```
    """

    name = "llvm.switch"

    value = operand_def(IntegerType)
    default_arguments = var_operand_def()
    case_operands = var_operand_def()

    case_values = opt_prop_def(DenseIntElementsAttr)
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))

    default_block = successor_def()
    case_blocks = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(IsTerminator())

    def __init__(
        self,
        value: SSAValue,
        default_block: Block,
        default_arguments: Sequence[SSAValue],
        case_values: Sequence[int] = (),
        case_blocks: Sequence[Block] = (),
        case_arguments: Sequence[Sequence[SSAValue]] = (),
    ):
        values = None
        if case_values:
            assert isa(value.type, IntegerType)
            values = DenseIntElementsAttr.from_list(VectorType(value.type, [len(case_values)]), case_values)
        super().__init__(
            operands=[value, default_arguments, [argument for arguments in case_arguments for argument in arguments]],
            properties={
                "case_values": values,
                "case_operand_segments": DenseArrayBase.from_list(i32, [len(list(a)) for a in case_arguments]),
            },
            successors=[default_block, case_blocks],
        )

    @property
    def case_numbers(self) -> list[int]:
        """The value of each case, as a signed number."""
        return [] if self.case_values is None else list(self.case_values.get_values())

    @property
    def case_arguments(self) -> list[Sequence[SSAValue]]:
        """The arguments passed to the block of each case."""
        arguments = iter(self.case_operands)
        return [[next(arguments) for _ in range(size)] for size in self.case_operand_segments.get_values()]

    def verify_(self) -> None:
        sizes = {len(self.case_numbers), len(self.case_blocks), len(self.case_operand_segments)}
        if len(sizes) != 1:
            raise VerifyException("expected as many values as blocks and argument lists")
        if sum(self.case_operand_segments.get_values()) != len(self.case_operands):
            raise VerifyException("expected argument lists that share out all arguments of cases")

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation(",")
        default = _parse_target(parser)
        cases = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: _parse_case(parser))
        attributes = parser.parse_optional_attr_dict()
        op = cls(operand, *default, [c[0] for c in cases], [c[1] for c in cases], [c[2] for c in cases])
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        _print_target(printer, self.default_block, self.default_arguments)
        printer.print_string(" [")
        with printer.indented():
            for i, number in enumerate(self.case_numbers):
                printer.print_string(",\n" if i else "\n")
                printer.print_string(f"{number}: ")
                _print_target(printer, self.case_blocks[i], self.case_arguments[i])
        if self.case_blocks:
            printer.print_string("\n")
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


def _parse_case(parser: Parser) -> tuple[int, Block, Sequence[SSAValue]]:
    number = parser.parse_integer()
    parser.parse_punctuation(":")
    return (number, *_parse_target(parser))


def _parse_target(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    block = parser.parse_successor()
    if not parser.parse_optional_punctuation("("):
        return block, ()
    arguments = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return block, parser.resolve_operands(arguments, types, parser.pos)


def _print_target(printer: Printer, block: Block, arguments: Sequence[SSAValue]) -> None:
    printer.print_block_name(block)
    if not arguments:
        return
    with printer.in_parens():
        printer.print_list(arguments, printer.print_operand)
        printer.print_string(" : ")
        printer.print_list([argument.type for argument in arguments], printer.print_attribute)


NO_WRAP_INBOUNDS = 3
"""The flags of `inbounds` in MLIR's generic form: its own bit, and the bit of `nusw`, which it implies."""


_SET = UnitAttr()


def set_inbounds(op: llvm.GEPOp, inbounds: bool) -> None:
    """Set whether an address is inside its object, in xDSL's form and in MLIR's.

    xDSL prints no other flags of addresses, so these are cleared: without them, the program promises less.
    """
    op.inbounds = _SET if inbounds else None
    op.noWrapFlags = integer_attr(NO_WRAP_INBOUNDS if inbounds else 0, i32)


LOOP_ANNOTATION = "llvm.loop_annotation"
"""The attribute of a loop, and of its latch branch, at the levels above the `llvm` dialect."""


class Unrolling(StrEnum):
    """A request to LLVM to unroll a loop completely, or not at all."""

    FULL = "full"
    DISABLE = "disable"


@irdl_attr_definition
class LoopUnrollAttr(Data[Unrolling | int]):
    """
    The part of `#llvm.loop_annotation` on unrolling; a number says how many iterations become one. MLIR prints it under
    a separate alias:

    ```mlir
    #loop_unroll = #llvm.loop_unroll<full = true>
    #loop_unroll1 = #llvm.loop_unroll<count = 4 : i32>
    ```
    """

    name = "llvm.loop_unroll"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Unrolling | int:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("count") is not None:
                parser.parse_punctuation("=")
                count = parser.parse_integer(allow_boolean=False, allow_negative=False)
                parser.parse_punctuation(":")
                parser.parse_keyword("i32")
                return count
            unrolling = parser.parse_str_enum(Unrolling)
            parser.parse_punctuation("=")
            parser.parse_keyword("true")
        return unrolling

    def print_parameter(self, printer: Printer) -> None:
        is_count = isinstance(self.data, int)
        printer.print_string(f"<count = {self.data} : i32>" if is_count else f"<{self.data} = true>")


@irdl_attr_definition
class LoopAnnotationAttr(Data[Unrolling | int]):
    """
    Instructions to LLVM for the loop whose latch branch carries it.

    ```mlir
    llvm.br ^loop(%next : i64) {loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
    ```
    """

    name = "llvm.loop_annotation"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Unrolling | int:
        with parser.in_angle_brackets():
            parser.parse_keyword("unroll")
            parser.parse_punctuation("=")
            start = parser.pos
            named = parser.parse_optional_attribute()
            if named is None:
                return LoopUnrollAttr.parse_parameter(parser)
            if not isinstance(named, LoopUnrollAttr):
                parser.raise_error(f"expected {LoopUnrollAttr.name}, found {named}", start)
            return named.data

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<unroll = ")
        LoopUnrollAttr(self.data).print_parameter(printer)
        printer.print_string(">")


MISSING_OPS: dict[str, type[Operation]] = {
    op.name: op for op in (ExtractElementOp, FPToSIOp, FPToUIOp, SwitchOp, UIToFPOp)
}


def load_missing_attributes(context: Context) -> None:
    """Add the attributes of this module to a context that knows xDSL's `llvm` dialect."""
    for attribute in (LoopAnnotationAttr, LoopUnrollAttr):
        if context.get_optional_attr(attribute.name) is None:
            context.load_attr_or_type(attribute)
