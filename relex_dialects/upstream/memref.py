"""The op of the `memref` dialect that xDSL's does not have, with MLIR's syntax and semantics."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from relex.dialects.upstream.hints import isa


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    Prefetches an element that will soon be read or written. The locality ranges from 0, for data that is used once, to
    3, for data to keep in the nearest cache. An element out of bounds is harmless.

    ```mlir
    memref.prefetch %x[%i, %j], read, locality<2>, data : memref<8x16xf32>
    ```
    """

    name = "memref.prefetch"

    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality = prop_def(IntegerAttr.constr(i32), prop_name="localityHint")
    is_data = prop_def(BoolAttr, prop_name="isDataCache")

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        *,
        is_write: bool = False,
        locality: int = 3,
        is_data: bool = True,
    ):
        super().__init__(
            operands=[buffer, indices],
            properties={
                "isWrite": BoolAttr.from_bool(is_write),
                "localityHint": IntegerAttr(locality, i32),
                "isDataCache": BoolAttr.from_bool(is_data),
            },
        )

    def verify_(self) -> None:
        assert isa(self.buffer.type, MemRefType)
        if (rank := self.buffer.type.get_num_dims()) != len(self.indices):
            raise VerifyException(f"expected {rank} indices, one for each dimension, found {len(self.indices)}")
        if self.locality.value.data not in range(4):
            raise VerifyException(f"expected a locality of 0 to 3, found {self.locality.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(",")
        access = parser.expect(lambda: parser.parse_optional_keyword_in(["read", "write"]), "expected read or write")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(",")
        cache = parser.expect(lambda: parser.parse_optional_keyword_in(["data", "instr"]), "expected data or instr")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(buffer, parser.parse_type()),
            [parser.resolve_operand(index, IndexType()) for index in indices],
            is_write=access == "write",
            locality=locality,
            is_data=cache == "data",
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        access, cache = "write" if self.is_write else "read", "data" if self.is_data else "instr"
        printer.print_string(f", {access}, locality<{self.locality.value.data}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)


MISSING_OPS: dict[str, type[Operation]] = {PrefetchOp.name: PrefetchOp}
