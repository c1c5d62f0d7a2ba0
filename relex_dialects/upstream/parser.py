"""xDSL's parser, extended: every op gets its source location, and dense constants are read as in MLIR."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    RankedStructure,
    StringAttr,
    UnknownLoc,
    i1,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import AttrParser, ForwardDeclaredValue, Parser, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from relex.dialects.context import register_dialect_of_others, similar_op
from relex.dialects.element_types import MAX_SIZE
from relex.dialects.errors import Diagnostic, one_line
from relex.dialects.function_arguments import argument_attrs, arguments, keep_argument_names
from relex.dialects.upstream.custom_syntax import adapt_generic_form, reading_custom_form
from relex.dialects.upstream.dense import Bits, Decimal, expect_in_range, with_bits
from relex.dialects.upstream.lexer import Lexer
from relex.dialects.upstream.syntax_errors import UndefinedNames

AttributeT = TypeVar("AttributeT", bound=Attribute)


def _missing_ops(name: str) -> Mapping[str, type[Operation]]:
    """Return the ops that relex adds to the dialect of an op."""
    dialect = name.partition(".")[0]
    extended = dialect in ("arith", "llvm", "memref")
    return import_module(f"relex.dialects.upstream.{dialect}").MISSING_OPS if extended else {}


class RelexParser(Parser):
    """xDSL's parser, extended to record the location of each op."""

    def __init__(self, ctx: Context, text: str, name: str = "<string>", line_offset: int = 0):
        super().__init__(ctx, "", name)
        self._parser_state.lexer = Lexer(Input(text, name))
        self._resume_from(0)
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._full_names: dict[SSAValue, str] = {}
        self._first_uses: dict[SSAValue, Span] = {}
        self._elements: list[AttrParser._TensorLiteralElement] = []
        self._open_ops: list[tuple[str, FileLineColLoc]] = []
        self._is_custom = True
        self._read_ahead: set[str] = set()

    @property
    def line_and_column(self) -> tuple[int, int]:
        """The position of the next token, line and column counted from 1."""
        start = self._current_token.span.start
        line = bisect_right(self._line_starts, start)
        return line + self._line_offset, start - self._line_starts[line - 1] + 1

    @property
    def location(self) -> FileLineColLoc:
        """The location of the next token, for an op."""
        line, column = self.line_and_column
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))

    @property
    def next_token(self) -> Span:
        """The span of the next token."""
        return self._current_token.span

    def diagnose(self, error: Exception) -> Diagnostic:
        """Return the diagnostic for an exception raised by the constructor of an attribute or op: it points at the op
        being parsed."""
        if isinstance(error, RecursionError):
            return Diagnostic("expected a program that nests less deeply", self._file.data, *self.line_and_column)
        # Lists of integers are packed into bytes as soon as they are read.
        is_too_large = isinstance(error, struct.error)
        message = "expected integers of 64 bits, found one out of range" if is_too_large else one_line(error)
        line, column = self.line_and_column
        if self._open_ops:
            op_name, location = self._open_ops[-1]
            message, line, column = f"'{op_name}' op {message}", location.line.data, location.column.data
        return Diagnostic(message, self._file.data, line, column)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole text; as in MLIR, it may be empty."""
        ops: list[Operation] = []
        while (kind := self._current_token.kind) is not MLIRTokenKind.EOF:
            if kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
                self._parse_alias_def()
            elif kind is MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            else:
                ops.append(self.expect(self.parse_optional_operation, "expected an operation"))
        self._expect_all_defined(0)
        match ops:
            case [ModuleOp() as module]:
                return module
            case _ if allow_implicit_module:
                return ModuleOp(ops)
            case _:
                self.raise_error("expected one builtin.module around everything", 0)

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        if op.attributes:
            _expect_no_properties(op)
        _, location = self._open_ops.pop()
        if isinstance(op.location, UnknownLoc):
            op.location = location
        self._expect_operands(op)
        if op.has_trait(IsolatedFromAbove):
            self._expect_all_defined(start)
        if op.has_trait(SymbolOpInterface):
            self._keep_argument_names(op)
        return op

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        position = self.pos
        size = super().parse_shape_dimension(allow_dynamic)
        if size > MAX_SIZE:
            self.raise_error(f"expected a size of at most {MAX_SIZE}, found {size}", position)
        return size

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeT) -> SSAValue[AttributeT]:
        value = super().resolve_operand(operand, type)
        if isinstance(value, ForwardDeclaredValue):
            self._first_uses.setdefault(value, operand.span)
        return value

    def _expect_operands(self, op: Operation) -> None:
        """Reject operands that were defined only inside the op that uses them, and are not visible outside."""
        for operand in op.operands:
            if not isinstance(operand, ForwardDeclaredValue):
                continue
            use = self._first_uses[operand]
            if operand not in self.forward_ssa_references.get(use.text[1:], {}).values():
                raise UndefinedNames("value", [use])

    def _expect_all_defined(self, start: int) -> None:
        """Reject values that were used after `start` and are still undefined; xDSL checks only at the end of the
        file."""
        undefined = [value for values in self.forward_ssa_references.values() for value in values.values()]
        uses = [use for value in undefined if (use := self._first_uses[value]).start >= start]
        if uses:
            raise UndefinedNames("value", uses)

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._is_custom = self._current_token.kind is not MLIRTokenKind.STRING_LIT
        # As in MLIR, the location of an op is the location of its name.
        self._open_ops.append((self._current_token.text.strip('"'), self.location))
        return results

    def _parse_location(self) -> LocationAttr:
        name = self._current_token.text
        if name not in self.attribute_aliases and (start := self._later_locations.get(name)) is not None:
            here = self.pos
            self._resume_from(start)
            self._parse_alias_def()
            self._resume_from(here)
            self._read_ahead.add(name)
        return super()._parse_location()

    @cached_property
    def _later_locations(self) -> Mapping[str, int]:
        """Positions of location aliases by name: MLIR defines them at the end of a text, after their uses."""
        return {found[1]: found.start() for found in _NAMED_LOCATION.finditer(self.lexer.input.content)}

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._read_ahead:
            self._read_ahead.remove(name)
            del self.attribute_aliases[name]
        super()._parse_alias_def()

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        op = super()._parse_generic_operation(op_type)
        adapt_generic_form(op)
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op = self._known_op(name)
        return reading_custom_form(op) if self._is_custom else op

    def _known_op(self, name: str) -> type[Operation]:
        if "." in name:
            register_dialect_of_others(self.ctx, Dialect.split_name(name)[0])
        try:
            return super()._get_op_by_name(name)
        except ParseError as e:
            if (missing := _missing_ops(name).get(name)) is not None:
                return missing
            # xDSL points after the name.
            start = self._parser_state.lexer.input.content.rfind(name, 0, self._current_token.span.start)
            similar = similar_op(self.ctx, name)
            hint = "" if similar is None else f"; did you mean '{similar}'?"
            self.raise_error(f"{e.msg}{hint}", start, start + len(name))

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ):
        if attr_name.startswith("llvm.") and not is_type:
            from relex.dialects.upstream.llvm import load_missing_attributes

            load_missing_attributes(self.ctx)
        if "." in attr_name:
            register_dialect_of_others(self.ctx, Dialect.split_name(attr_name)[0])
        return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)

    def _parse_block(self) -> Block:
        name = self._current_token.text[1:]
        # xDSL mishandles the redefinition of a block that is used before its first definition.
        if name in self.blocks and name not in self.forward_block_references:
            self.raise_error(f"block ^{name} is already defined", self.pos)
        return super()._parse_block()

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        if values and values[0].name_hint != name and not name.isdigit():
            self._full_names[values[0]] = name

    def _keep_argument_names(self, op: Operation) -> None:
        """Record argument names that name hints lose. In `llvm.func`, arguments are no longer known by name, and nobody
        outside knows the names of a private function: of two values `w` that passes made, the printer calls one
        `w_1`."""
        has_attributes = isinstance(op, IRDLOperation) and "arg_attrs" in op.get_irdl_definition().properties
        if not has_attributes or op.name == "llvm.func" or op.properties.get("sym_visibility") == StringAttr("private"):
            return
        if argument_attrs(op) is not None:
            keep_argument_names(op, [self._full_names.get(arg, arg.name_hint) for arg in arguments(op)])

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        start = self.pos
        literal = _BYTES.match(self.lexer.input.content, start)
        if literal is not None and not literal[1].startswith("0x"):
            self.raise_error('expected bytes in the form "0x..."', literal.start(1))
        self._elements.clear()
        try:
            dense = super().parse_dense_int_or_fp_elements_attr(type)
        except ParseError as e:
            # If the constant as a whole is invalid, xDSL points after it.
            if e.span.start != self.pos:
                raise
            self.raise_error(e.msg, start)
        if literal is not None and dense.get_element_type() == i1:
            self._check_booleans(dense, literal)
        return with_bits(dense, self._elements)

    def _check_booleans(self, dense: DenseIntOrFPElementsAttr, literal: re.Match[str]) -> None:
        """Reject bytes that are not booleans, or that MLIR reads differently: it takes one byte for many elements as
        bits."""
        count = len(literal[1].removeprefix("0x")) // 2
        # xDSL writes 255 for true.
        if count != len(dense) or not set(dense.data.data) <= {0, 1, 255}:
            self.raise_error("expected i1 as true and false, or one byte for each, 00 or 01", literal.start(1))

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        start = self.pos
        number = super().parse_optional_builtin_int_or_float_attr()
        if isinstance(number, FloatAttr):
            text = self.lexer.input.content[start : self.pos]
            literal = Span(start, start + len(text.partition(":")[0].rstrip()), self.lexer.input)
            if not _is_hexadecimal(literal.text):
                expect_in_range(self, number, literal)
        if isinstance(number, IntegerAttr) and isinstance(number.type, IndexType):
            value = number.value.data
            if not -MAX_SIZE - 1 <= value <= MAX_SIZE:
                self.raise_error(f"expected an index from {-MAX_SIZE - 1} to {MAX_SIZE}, found {value}", start)
        return number

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        element = super()._parse_tensor_literal_element()
        kind = Bits if _is_hexadecimal(element.span.text) else Decimal
        element = kind(element.is_negative, element.value, element.span)
        self._elements.append(element)
        return element


def _is_hexadecimal(literal: str) -> bool:
    return literal.lstrip("- ").lower().startswith("0x")


_NAMED_LOCATION = re.compile(r"^(#\w+) = loc\(", re.MULTILINE)

_BYTES = re.compile(r'<\s*"([^"]*)"')


def _expect_no_properties(op: Operation) -> None:
    """Reject a property in the dictionary of other attributes, such as `{axis = 0}`: there, it would mean nothing. Ops
    of xDSL are read as xDSL reads them."""
    if not isinstance(op, IRDLOperation) or type(op).__module__.startswith("xdsl."):
        return
    for name in sorted(op.attributes.keys() & op.get_irdl_definition().properties.keys()):
        raise VerifyException(f"expected '{name}' in its own syntax, found it in the dictionary of other attributes")
