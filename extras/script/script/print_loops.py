"""Prints loop functions as `@T.prim_func`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, cf, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.dialects.fast_math import SUM_FLAGS
from relex.dialects.function_arguments import argument_attr, argument_names
from relex.dialects.names import Names
from relex.dialects.symbols import is_private
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, PrimFuncOp
from relex.dialects.tir.blocks import IterVar
from relex.dialects.tir.loops import LoopKind
from relex.dialects.tir.prim_func import NOALIAS_ATTR
from relex.frontend.script.attributes import write_attributes
from relex.frontend.script.blocks import AXES, REASSOCIATE_KEY
from relex.frontend.script.inlining import inlined_ops
from relex.frontend.script.loop_functions import OUTPUTS_KEY, written_arguments
from relex.frontend.script.loop_statements import LABEL_KEY, LOOPS
from relex.frontend.script.parameters import LAYOUT_FREE_ATTR
from relex.frontend.script.print_expressions import ExpressionPrinter
from relex.frontend.script.writing import CANNOT, Writer, dictionary, dtype_name, python_value, symbol_name, tuple_of

_LOOPS = {kind: name for name, kind in reversed(LOOPS.items())}

_AXES = {kind: name for name, kind in reversed(AXES.items())}


@dataclass(frozen=True)
class _Head:
    """The printed name and annotations of a loop."""

    name: str
    annotations: Mapping[str, object]


class LoopPrinter(ExpressionPrinter):
    """Prints a loop function. Fails on ops that scripts cannot express."""

    def __init__(self, function: PrimFuncOp, writer: Writer):
        super().__init__(writer)
        self._function = function
        self._heads: dict[ForOp, _Head] = {}
        self._labels: set[str] = set()

    def print(self) -> None:
        """Print the function."""
        function, writer = self._function, self.writer
        parameters, matches = self._parameters()
        writer.line(f"@T.prim_func({'private=True, ' if is_private(function) else ''}s_tir=True)")
        with writer.indented(f"def {symbol_name(function)}({', '.join(parameters)}):"):
            if attributes := self._attributes():
                writer.line(f"T.func_attr({dictionary(attributes)})")
            for line in matches:
                writer.line(line)
            self._block(function.body.block)

    def _parameters(self) -> tuple[list[str], list[str]]:
        """Return the parameters, and the lines that declare their size names and the buffers of handles."""
        parameters: list[str] = []
        matches: list[str] = []
        names = argument_names(self._function)
        for value, name in zip(self._function.args, names, strict=True):
            self.writer.texts[value] = self.writer.argument(name)
        for i, value in enumerate(self._function.args):
            name, t = self.writer.texts[value], value.type
            if not isa(t, MemRefType):
                parameters.append(f"{name}: T.{dtype_name(self._function, t)}")
                continue
            known = set(self.sizes.values())
            sizes = self.argument_sizes(self._function, i, t)
            declared = f'{tuple_of(sizes)}, "{dtype_name(self._function, t.element_type)}"'
            if t.has_static_shape():
                parameters.append(f"{name}: T.Buffer({declared})")
                continue
            handle = self.writer.name(f"{name}_handle", "handle")
            parameters.append(f"{handle}: T.handle")
            matches += [f"{size} = T.int64()" for size in dict.fromkeys(self.sizes.values()) if size not in known]
            matches.append(f"{name} = T.match_buffer({handle}, {declared})")
        return parameters, matches

    def _attributes(self) -> dict[str, object]:
        function = self._function
        result: dict[str, object] = {}
        if function.noalias:
            result["tirx.noalias"] = True
        free = [i for i in range(len(function.args)) if argument_attr(function, i, LAYOUT_FREE_ATTR) is not None]
        if free:
            result["layout_free_buffers"] = free
        is_written = written_arguments(function)
        first = is_written.index(True) if True in is_written else len(is_written)
        if first != function.num_inputs or not all(is_written[first:]):
            result[OUTPUTS_KEY] = len(function.outputs)
        others = {name: value for name, value in function.attributes.items() if name != NOALIAS_ATTR}
        return result | write_attributes(function, others)

    # Statements.

    def _block(self, block: Block) -> None:
        inlined = inlined_ops(block)
        count = len(self.writer.lines)
        for op in block.ops:
            if op not in inlined:
                self._statement(op)
        if len(self.writer.lines) == count:
            self.writer.line("pass")

    def _statement(self, op: Operation) -> None:
        match op:
            case ForOp():
                self._loops(op)
            case BlockOp():
                self._sblock(op, None)
            case memref.StoreOp(value=value, memref=buffer, indices=indices):
                self.writer.line(f"{self.place(buffer, indices)} = {self.text(value)}")
            case AllocBufferOp(buffer=buffer, sizes=sizes):
                shape = tuple_of(self.sizes_of(buffer.type, iter(sizes)))
                dtype = dtype_name(self._function, buffer.type.element_type)
                self.writer.line(f'{self.writer.define(buffer, "buffer")} = T.sblock_alloc_buffer({shape}, "{dtype}")')
            case scf.IfOp() if not op.results:
                self._if(op)
            case InitOp():
                with self.writer.indented("with T.init():"):
                    self._block(op.body.block)
            case cf.AssertOp():
                self.writer.line(f"assert {self.text(op.arg)}, {python_value(op.msg.data)}")
            case scf.YieldOp():
                return
            case _ if len(op.results) == 1:
                text = self.text(op.results[0])
                self.writer.line(f"{self.writer.define(op.results[0], 'v')}: T.let = {text}")
            case _:
                fail(op, CANNOT)

    def _if(self, op: scf.IfOp) -> None:
        guarded = _guarded_block(op)
        if guarded is not None:
            self._sblock(guarded, self.text(op.cond))
            return
        with self.writer.indented(f"if {self.text(op.cond)}:"):
            self._block(op.true_region.block)
        if op.false_region.blocks:
            with self.writer.indented("else:"):
                self._block(op.false_region.block)

    def _loops(self, loop: ForOp) -> None:
        """Print a loop, with the perfectly nested loops inside it in the same statement."""
        with self.writer.scope():
            nest = [loop]
            while (inner := _only_loop(nest[-1])) is not None and self._may_join(inner, nest):
                nest.append(inner)
            names = ", ".join(self._head(part).name for part in nest)
            extents = ", ".join(self._extent(part.extent) for part in nest)
            annotations = self._head(loop).annotations
            options = f", annotations={dictionary(annotations)}" if annotations else ""
            kind = _LOOPS[loop.kind.data] if options or loop.kind.data is not LoopKind.SERIAL else "range"
            with self.writer.indented(f"for {names} in {'T.grid' if len(nest) > 1 else kind}({extents}{options}):"):
                self._block(nest[-1].body.block)

    def _may_join(self, inner: ForOp, nest: Sequence[ForOp]) -> bool:
        """Return whether a loop can be printed in one `T.grid` with those around it."""
        if any(part.kind.data is not LoopKind.SERIAL or self._head(part).annotations for part in (*nest, inner)):
            return False
        return all(inner.dynamic_extent is not part.variable for part in nest)

    def _head(self, loop: ForOp) -> _Head:
        if loop not in self._heads:
            self._heads[loop] = self._make_head(loop)
        return self._heads[loop]

    def _make_head(self, loop: ForOp) -> _Head:
        """Choose a name for a loop's variable: if possible, one from which the reader gives the loop its label."""
        label = loop.label.data if loop.label is not None else None
        names = [self.writer.free_name(loop.variable.name_hint, "i")]
        if label is not None and label.isidentifier():
            names.append(self.writer.free(label))
        fitting = [name for name in names if label in (None, Names(self._labels).fresh(name))]
        name = self.writer.use((fitting or names)[0])
        self.writer.texts[loop.variable] = name
        annotations = write_attributes(loop, loop.attributes)
        if not fitting:
            annotations[LABEL_KEY] = label
        self._labels.add(label or Names(self._labels).fresh(name))
        return _Head(name, annotations)

    def _extent(self, extent: int | SSAValue) -> str:
        return str(extent) if isinstance(extent, int) else self.text(extent)

    # Blocks.

    def _sblock(self, block: BlockOp, condition: str | None) -> None:
        with self.writer.indented(f"with T.sblock({python_value(block.block_name.data)}):"):
            bindings = [self.text(v.binding) for v in block.iter_vars]
            names = [self.writer.define(v.variable, "v") for v in block.iter_vars]
            for run in _runs(block.iter_vars):
                self._axes(block.iter_vars[run], names[run], bindings[run])
            if condition is not None:
                self.writer.line(f"T.where({condition})")
            attributes = write_attributes(block, block.attributes)
            if _has_loose_sums(block):
                attributes[REASSOCIATE_KEY] = True
            if attributes:
                self.writer.line(f"T.sblock_attr({dictionary(attributes)})")
            self._block(block.body.block)

    def _axes(self, variables: Sequence[IterVar], names: Sequence[str], bindings: Sequence[str]) -> None:
        """Print several variables bound to whole loops as one `T.axis.remap`, or a single variable."""
        if len(variables) > 1:
            kinds = "".join(v.kind.value[0].upper() for v in variables)
            self.writer.line(f'{", ".join(names)} = T.axis.remap("{kinds}", [{", ".join(bindings)}])')
            return
        for v, name, binding in zip(variables, names, bindings, strict=True):
            self.writer.line(f"{name} = {_AXES[v.kind]}({self._extent(v.extent)}, {binding})")


def _runs(variables: Sequence[IterVar]) -> Iterator[slice]:
    """Yield the variables of a block in groups: consecutive ones bound to whole loops together, others alone."""
    start = 0
    for end in range(1, len(variables) + 1):
        if end == len(variables) or not (_is_whole(variables[end]) and _is_whole(variables[start])):
            yield slice(start, end)
            start = end


def _is_whole(v: IterVar) -> bool:
    """Return whether a variable is bound to a loop variable and has the same extent."""
    loop = v.binding.owner.parent_op() if isinstance(v.binding, BlockArgument) else None
    return isinstance(loop, ForOp) and loop.extent == v.extent


def _has_loose_sums(block: BlockOp) -> bool:
    """Return whether all sums that a block stores may be reassociated. Other fast-math flags are not printed."""
    stored = (op.value.owner for op in block.body.block.ops if isinstance(op, memref.StoreOp))
    sums = [op for op in stored if isinstance(op, arith.AddfOp)]
    return bool(sums) and all(op.fastmath == SUM_FLAGS for op in sums)


def _guarded_block(op: scf.IfOp) -> BlockOp | None:
    """Return the block that is the entire body of a conditional (`T.where`), or None."""
    if op.false_region.blocks:
        return None
    inlined = inlined_ops(op.true_region.block)
    rest = [inner for inner in op.true_region.block.ops if inner not in inlined and not isinstance(inner, scf.YieldOp)]
    return rest[0] if len(rest) == 1 and isinstance(rest[0], BlockOp) else None


def _only_loop(loop: ForOp) -> ForOp | None:
    """Return the loop that is the entire body of another, or None."""
    inner = loop.body.block.first_op
    return inner if isinstance(inner, ForOp) and inner is loop.body.block.last_op else None
