"""Pictures of graph functions: operators as boxes, values as arrows, in layers from the arguments to the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import ConstantLike, IsTerminator
from xdsl.utils.hints import isa

from relex.dialects.errors import CompileError, locate, size_str
from relex.dialects.relex import CallOp, CallTirOp
from relex.dialects.sizes import Sizes
from relex.dialects.sizes.modules import ModuleSizes
from relex.dialects.tir import BlockOp
from relex.tools.reports.layout import GAP, Arrow, LayoutItem, lay_out

CHARACTER, ROW = 7.0, 16.0
"""Pixels: the width of a character, the height of a row of text."""


@dataclass
class Box(LayoutItem):
    """An operator, a call or an argument."""

    title: str
    kind: str
    """`op`, `call` or `argument`."""
    rows: tuple[str, ...] = ()
    """Of a call, what the function consists of."""
    detail: str = ""
    """The types of operands and results."""
    place: str = ""
    callee: str = ""

    def __post_init__(self) -> None:
        self.width = CHARACTER * max(map(len, (self.title, *self.rows))) + 2 * ROW
        self.height = ROW * (1 + len(self.rows)) + 10


@dataclass
class Drawing:
    """Boxes, and arrows from one to another with the shape of the value."""

    boxes: list[Box] = field(default_factory=list[Box])
    arrows: list[Arrow] = field(default_factory=list[Arrow])

    @property
    def size(self) -> tuple[float, float]:
        """The width and the height."""
        edges = [(box.x + box.width / 2, box.y + box.height) for box in self.boxes]
        edges += [point for arrow in self.arrows for point in arrow.points]
        sources = [(self.boxes[arrow.source], arrow.label) for arrow in self.arrows]
        edges += [(box.x + CHARACTER * len(label), box.y + box.height) for box, label in sources]
        return max((x for x, _ in edges), default=0.0) + GAP, max((y for _, y in edges), default=0.0) + GAP


def draw_graphs(module: ModuleOp) -> dict[str, Drawing]:
    """Return pictures of the graph functions of a module by name, without those that only pass their arguments on."""
    parts = {name: _parts(op) for op in module.ops if (name := symbol_name(op))}
    sizes = ModuleSizes()
    drawn = {
        f.sym_name.data: _draw(f, parts, _known(f, sizes))
        for f in module.ops
        if isinstance(f, func.FuncOp) and f.body.blocks
    }
    return {name: drawing for name, drawing in drawn.items() if any(box.kind != "argument" for box in drawing.boxes)}


def symbol_name(op: Operation) -> str:
    """Return the name of a symbol; empty for other ops, and for an op that a pass has left without one."""
    return getattr(op.properties.get("sym_name"), "data", "")


def _parts(function: Operation) -> tuple[str, ...]:
    """Return the names of the operators in a graph function, or of the blocks of a loop function."""
    inner = [op for op in function.walk() if op is not function]
    blocks = [op.block_name.data for op in inner if isinstance(op, BlockOp)]
    found = blocks or [_title(op) for op in inner if _is_shown(op)]
    return tuple(dict.fromkeys(found))[:8]


def _title(op: Operation) -> str:
    if isinstance(op, CallOp | CallTirOp):
        return str(op.callee.string_value())
    return op.name.removeprefix("relex.")


def _is_shown(op: Operation) -> bool:
    is_graph = op.name.startswith("relex.") and not op.regions
    return is_graph and not op.has_trait(IsTerminator) and not op.has_trait(ConstantLike)


def _known(function: func.FuncOp, sizes: ModuleSizes) -> Mapping[SSAValue, Sizes]:
    """Return the sizes of values by name, as far as they follow from the program."""
    values = [value for op in function.walk() for value in op.results]
    if not any(isa(v.type, TensorType) and DYNAMIC_INDEX in v.type.get_shape() for v in [*function.args, *values]):
        return {}
    try:
        return sizes.inside(function)
    except CompileError:
        return {}


def _draw(function: func.FuncOp, parts: Mapping[str, tuple[str, ...]], known: Mapping[SSAValue, Sizes]) -> Drawing:
    drawing, numbers = Drawing(), dict[SSAValue, int]()

    def add(box: Box, values: Sequence[SSAValue]) -> None:
        drawing.boxes.append(box)
        numbers.update(dict.fromkeys(values, len(drawing.boxes) - 1))

    for op in function.walk():
        if not _is_shown(op):
            continue
        for value in op.operands:
            kind: Attribute = value.type
            is_argument = isinstance(value, BlockArgument) and value.block.parent_op() is function
            if is_argument and value not in numbers and isa(kind, TensorType):
                name = f"%{value.name_hint or function.args.index(value)}"
                add(Box(name, "argument", (_shape(value, known),), str(kind)), [value])
        title = _title(op)
        callee = title if isinstance(op, CallOp | CallTirOp) else ""
        place = locate(op.location)
        where = f"{place.filename.data}:{place.line.data}:{place.column.data}" if place is not None else ""
        rows = parts.get(callee, ()) if callee else ()
        detail = f"({', '.join(map(str, op.operand_types))}) -> {', '.join(map(str, op.result_types))}"
        box = Box(title, "call" if callee else "op", rows if rows != (title,) else (), detail, where, callee)
        sources = dict.fromkeys((n, _shape(v, known)) for v in op.operands if (n := _number(v, numbers)) is not None)
        add(box, op.results)
        # Arguments show their shapes themselves.
        shapes = [(n, shape if drawing.boxes[n].kind != "argument" else "") for n, shape in sources]
        drawing.arrows += [Arrow(n, len(drawing.boxes) - 1, shape) for n, shape in shapes]
    lay_out(drawing.boxes, drawing.arrows)
    return drawing


def _number(value: SSAValue, numbers: Mapping[SSAValue, int]) -> int | None:
    """Return the box that a value comes from. What a region computes, a dataflow block's, comes from within; a view of
    a tensor, such as one of another shape, comes from where the tensor comes from."""
    if isinstance(value, OpResult) and value not in numbers and value.op.regions and value.op.regions[0].blocks:
        end = value.op.regions[0].blocks[-1].last_op
        if end is not None and value.index < len(end.operands):
            return _number(end.operands[value.index], numbers)
    if isinstance(value, OpResult) and value.op.name.startswith("tensor.") and isa(value.type, TensorType):
        return _number(value.op.operands[0], numbers) if value.op.operands else None
    return numbers.get(value)


def _shape(value: SSAValue, known: Mapping[SSAValue, Sizes]) -> str:
    """Format the shape of a tensor, with names of sizes."""
    kind: Attribute = value.type
    if not isa(kind, TensorType):
        return ""
    sizes = known.get(value, kind.get_shape())
    texts = [size_str(s) if isinstance(s, int) else f"({s})" if " " in str(s) else str(s) for s in sizes]
    return ("x" if all(isinstance(size, int) for size in sizes) else " x ").join(texts)
