"""Upstream ops in the text that MLIR prints, where xDSL cannot parse it or parses it differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.traits import IsTerminator
from xdsl.utils.hints import isa

from relex.dialects.table import Table

if TYPE_CHECKING:
    from xdsl.dialects import llvm, memref, scf

CustomForm = str | Callable[[Parser], Operation]
"""A declarative assembly format for xDSL's definition of an op, or a function that parses what follows the op name."""

GenericForm = Callable[[Operation], None]
"""Converts an op from MLIR's definition to xDSL's. The op may have properties that xDSL does not know."""

_CAST = "$source attr-dict `:` type($source) `to` type($dest)"

CUSTOM_FORMS = Table[str, CustomForm]("custom forms of upstream ops")
"""By op name; other packages may add theirs."""

CUSTOM_FORMS.update(
    {
        "memref.alloca_scope.return": "attr-dict ($ops^ `:` type($ops))?",
        "memref.cast": _CAST,
        "memref.copy": "$source `,` $destination attr-dict `:` type($source) `to` type($destination)",
        "memref.extract_aligned_pointer_as_index": "$source `:` type($source) `->` type(results) attr-dict",
        "memref.memory_space_cast": _CAST,
        "memref.rank": "$source attr-dict `:` type($source)",
    }
)

GENERIC_FORMS = Table[str, GenericForm]("generic forms of upstream ops")
"""By op name; other packages may add theirs."""


def reading_custom_form(op: type[Operation]) -> type[Operation]:
    """Return a class whose `parse` reads the custom form of an op as MLIR prints it; the ops it creates are of class
    `op`."""
    form = CUSTOM_FORMS.get(op.name)
    return op if form is None else _reader(op, form)


@cache
def _reader(op: type[Operation], form: CustomForm) -> type[Operation]:
    read = _format_reader(op, form) if isinstance(form, str) else form
    return cast(type[Operation], type(op.__name__, (op,), {"parse": staticmethod(read)}))


def _format_reader(op: type[Operation], form: str) -> Callable[[Parser], Operation]:
    assert issubclass(op, IRDLOperation)
    program = FormatProgram.from_str(form, op.get_irdl_definition())
    return lambda parser: program.parse(parser, op)


def adapt_generic_form(op: Operation) -> None:
    """Convert an op that was parsed in MLIR's generic form to xDSL's definition."""
    if (adapt := GENERIC_FORMS.get(op.name)) is not None:
        adapt(op)
    # MLIR's ops have properties that xDSL's lack. Ops of relex and of other packages are defined in one place.
    is_upstream = type(op).__module__.startswith(("xdsl.", "relex.dialects.upstream."))
    if is_upstream and isinstance(op, IRDLOperation):
        for name in op.properties.keys() - op.get_irdl_definition().properties.keys():
            op.attributes[name] = op.properties.pop(name)


# Custom forms. Dialects are imported on use.

_NO_WRAP_FLAGS = ("inbounds", "nusw", "nuw")


@CUSTOM_FORMS.rule("llvm.getelementptr")
def _read_getelementptr(parser: Parser) -> llvm.GEPOp:
    """Parse `inbounds|nuw %pointer[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32`."""
    from xdsl.dialects.llvm import GEPOp

    from relex.dialects.upstream.llvm import set_inbounds

    flags: set[str] = set()
    while (flag := parser.parse_optional_keyword_in(_NO_WRAP_FLAGS)) is not None:
        flags.add(flag)
        if not parser.parse_optional_punctuation("|"):
            break
    op = GEPOp.parse(parser)
    set_inbounds(op, "inbounds" in flags)
    return op


@CUSTOM_FORMS.rule("memref.global")
def _read_global(parser: Parser) -> memref.GlobalOp:
    """Parse `"private" constant @name : memref<2xf32> = dense<1.0> {alignment = 64 : i64}`."""
    from xdsl.dialects.memref import GlobalOp

    visibility = parser.parse_optional_str_literal() or "public"
    constant = UnitAttr() if parser.parse_optional_keyword("constant") else None
    name = parser.parse_symbol_name()
    parser.parse_punctuation(":")
    start = parser.pos
    kind = parser.parse_type()
    if not isa(kind, MemRefType) or DYNAMIC_INDEX in kind.get_shape():
        parser.raise_error(f"expected a memref of known shape, found {kind}", start)
    # A global without a value is an external declaration, which xDSL does not have.
    parser.parse_punctuation("=")
    op = GlobalOp.get(name, kind, _read_value(parser, kind), StringAttr(visibility), constant)
    op.attributes |= parser.parse_optional_attr_dict()
    if (alignment := op.attributes.pop("alignment", None)) is not None:
        op.properties["alignment"] = alignment
    return op


def _read_value(parser: Parser, kind: MemRefType) -> UnitAttr | DenseIntOrFPElementsAttr:
    """Parse the value of a global, which does not repeat the type."""
    if parser.parse_optional_keyword("uninitialized"):
        return UnitAttr()
    tensor = TensorType(kind.element_type, kind.get_shape())
    if not isa(tensor, TensorType[AnyDenseElement]):
        parser.raise_error(f"expected no value for a global of {kind.element_type}")
    parser.parse_keyword("dense")
    return parser.parse_dense_int_or_fp_elements_attr(tensor)


@CUSTOM_FORMS.rule("memref.alloca_scope")
def _read_alloca_scope(parser: Parser) -> memref.AllocaScopeOp:
    """Parse `-> (f32) { ... }`."""
    from xdsl.dialects.memref import AllocaScopeOp, AllocaScopeReturnOp

    types = _result_types(parser)
    body = parser.parse_region()
    if not types and not (body.block.last_op and body.block.last_op.has_trait(IsTerminator)):
        body.block.add_op(AllocaScopeReturnOp.build(operands=[[]]))
    attributes = parser.parse_optional_attr_dict()
    return AllocaScopeOp.build(result_types=[types], regions=[body], attributes=attributes)


@CUSTOM_FORMS.rule("scf.parallel")
def _read_parallel(parser: Parser) -> scf.ParallelOp:
    """Parse `(%i, %j) = (%0, %1) to (%2, %3) step (%4, %5) init (%x) -> f32 { ... }`."""
    from xdsl.dialects.scf import ParallelOp, ReduceOp

    variables = parser.parse_comma_separated_list(
        Parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False).resolve(IndexType())
    )
    lower, upper, steps = (_bounds(parser, after) for after in ("=", "to", "step"))
    start = parser.pos
    initial = _operands(parser) if parser.parse_optional_keyword("init") else []
    types = _result_types(parser)
    values = parser.resolve_operands(initial, types, start)
    body = parser.parse_region(variables)
    if not (body.block.last_op and body.block.last_op.has_trait(IsTerminator)):
        body.block.add_op(ReduceOp())
    op = ParallelOp(lower, upper, steps, body, values)
    op.attributes |= parser.parse_optional_attr_dict()
    return op


def _bounds(parser: Parser, after: str) -> Sequence[SSAValue]:
    parser.parse_characters(after)
    return [parser.resolve_operand(bound, IndexType()) for bound in _operands(parser)]


def _result_types(parser: Parser) -> Sequence[Attribute]:
    """Parse `-> f32`, or several types in parentheses, or nothing."""
    if not parser.parse_optional_punctuation("->"):
        return ()
    types = parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else types


def _operands(parser: Parser) -> list[UnresolvedOperand]:
    return parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_unresolved_operand)


# Generic forms.


@GENERIC_FORMS.rule("llvm.getelementptr")
def _adapt_getelementptr(op: Operation) -> None:
    """Convert flags, which are bits of one number, the lowest for `inbounds`."""
    from xdsl.dialects.llvm import GEPOp

    from relex.dialects.upstream.llvm import set_inbounds

    assert isinstance(op, GEPOp)
    set_inbounds(op, op.inbounds is not None or bool(op.noWrapFlags.value.data & 1))


@GENERIC_FORMS.rule("llvm.trunc")
def _adapt_llvm_trunc(op: Operation) -> None:
    """Convert overflow flags, which MLIR prints as a number here and only here."""
    from xdsl.dialects.llvm import OverflowAttr, OverflowFlag

    if isinstance(flags := op.properties.get("overflowFlags"), IntegerAttr):
        names = [flag for i, flag in enumerate(OverflowFlag) if flags.value.data >> i & 1]
        op.properties["overflowFlags"] = OverflowAttr(names)


@GENERIC_FORMS.rule("llvm.mlir.global")
def _adapt_llvm_global(op: Operation) -> None:
    """Drop defaults that MLIR's custom form has as keywords; xDSL would print the first as an attribute."""
    _drop(op, "visibility_", IntegerAttr(0, 64))
    _drop(op, "unnamed_addr", IntegerAttr(0, 64))


@GENERIC_FORMS.rule("llvm.func")
def _adapt_llvm_func(op: Operation) -> None:
    """Move attributes for LLVM to where xDSL prints and reads them."""
    if (passthrough := op.properties.pop("passthrough", None)) is not None:
        op.attributes["passthrough"] = passthrough


@GENERIC_FORMS.rule("memref.global")
def _adapt_global(op: Operation) -> None:
    """Add the visibility, which xDSL's op always states."""
    op.properties.setdefault("sym_visibility", StringAttr("public"))


@GENERIC_FORMS.rule("arith.trunci")
def _adapt_trunci(op: Operation) -> None:
    """Drop the default overflow flags: xDSL's op has none."""
    from xdsl.dialects.arith import IntegerOverflowAttr

    _drop(op, "overflowFlags", IntegerOverflowAttr("none"))


@GENERIC_FORMS.rule("llvm.fcmp")
def _adapt_fcmp(op: Operation) -> None:
    """Move flags to an attribute, where xDSL prints and reads them."""
    from xdsl.dialects.llvm import FastMathAttr

    flags = op.properties.get("fastmathFlags")
    if isinstance(flags, FastMathAttr) and flags.data:
        op.attributes["fastmathFlags"] = flags
        op.properties["fastmathFlags"] = FastMathAttr(None)


def _drop(op: Operation, name: str, default: Attribute) -> None:
    """Remove a property that has its default value."""
    if op.properties.get(name) == default:
        del op.properties[name]
