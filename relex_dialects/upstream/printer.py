"""Printing of modules: with exact constants or, for people, elided ones as by MLIR's
`--mlir-elide-elementsattrs-if-larger`."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import IO, Any

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from relex.dialects.dtypes import ELEMENT_TYPES, repeats
from relex.dialects.upstream.dense import print_dense


class ExactPrinter(Printer):
    """
    Prints dense constants as `relex.constant` prints its own, in any op: every bit is kept, and megabytes take
    milliseconds. xDSL's printer takes `[0.0, -0.0]` for a splat, rounds the bits of NaN, and visits every element.
    """

    def print_attribute(self, attribute: Attribute) -> None:
        if isa(attribute, DenseIntOrFPElementsAttr) and attribute.get_element_type() in ELEMENT_TYPES:
            print_dense(self, attribute)
        else:
            super().print_attribute(attribute)


class ElidingPrinter(ExactPrinter):
    """
    Prints `dense_resource<__elided__>` in place of a constant of more than `limit` elements. The text is for people:
    the values are lost, and it does not parse. The other options are xDSL's.
    """

    def __init__(self, stream: IO[str] | None = None, *, limit: int = 16, **options: Any):
        super().__init__(stream, **options)
        self.limit = limit

    def elides(self, dense: DenseIntOrFPElementsAttr) -> bool:
        """Return whether a constant is too long to print. A splat never is."""
        size = dense.get_element_type().compile_time_size
        data = dense.data.data
        return len(data) > self.limit * size and not repeats(data, data[:size])

    def print_attribute(self, attribute: Attribute) -> None:
        if not isa(attribute, DenseIntOrFPElementsAttr) or not self.elides(attribute):
            super().print_attribute(attribute)
            return
        self.print_string("dense_resource<__elided__> : ")
        self.print_attribute(attribute.get_type())


def printed(op: Operation, make_printer: Callable[..., Printer] = ExactPrinter, **options: Any) -> str:
    """Return an op as text, by default such that nothing is lost. `options` are options of the printer."""
    text = StringIO()
    make_printer(stream=text, **options).print_op(op)
    return text.getvalue()


def as_text(module: ModuleOp, context: Context, make_printer: Callable[..., Printer] = ExactPrinter) -> str:
    """Return what a file with a module contains: the module, and the resources of the dialects."""
    text = StringIO()
    printer = make_printer(stream=text)
    printer.print_op(module)
    printer.print_metadata(context.loaded_dialects)
    return text.getvalue() + "\n"
