"""Conversion between sets of ops and types in one walk.

A `ConversionTable` has a rule for each kind of op, a `TypeConverter` one for each kind of type. Both can be extended:
anyone can add rules for other ops and types. `convert` walks a module once and applies the rule of every op that has
one; ops without a rule stay as they are. Between converted and other ops, a `builtin.unrealized_conversion_cast`
connects the old and the new type, so that conversions can run one after the other, in any order.

```mlir
%0 = arith.addi %i, %j : index
"test.op"(%0) : (index) -> ()
// after converting `arith` alone
%0 = builtin.unrealized_conversion_cast %i : index to i64
%1 = builtin.unrealized_conversion_cast %j : index to i64
%2 = llvm.add %0, %1 : i64
%3 = builtin.unrealized_conversion_cast %2 : i64 to index
"test.op"(%3) : (index) -> ()
```

Replaced ops stay in their blocks, unchanged, until the walk is over: a rule always sees the original program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any, ClassVar, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import Diagnostic, PassError, fail
from relex.dialects.symbols import symbol_of
from relex.dialects.table import Table, find, flat
from relex.passes.driver.base import RelexPass
from relex.passes.tracing import current_trace
from relex.passes.tracing.trace import Trace

OpT = TypeVar("OpT", bound=Operation)


class TypeConverter(Table[type[Attribute], Callable[[Any], Attribute]]):
    """A table of type conversions. A type without a rule stays as it is."""

    def convert(self, old: Attribute) -> Attribute:
        """Return the type that replaces `old`."""
        rule = self.find(old)
        return old if rule is None else rule(old)


class Parts(ABC):
    """A replacement made of several values, joined into one only where a single value is needed."""

    @abstractmethod
    def join(self) -> SSAValue:
        """Return the single value, built on first use, where it dominates all its users."""


Replacement = SSAValue | Parts


class Conversion:
    """A running conversion: the replacements of old values, and the insertion point of new ops."""

    def __init__(self, rules: Mapping[type[Operation], Rule], types: TypeConverter):
        self.types = types
        self.module: ModuleOp
        """The module that is being converted."""
        self._rules = flat(rules)
        self._new: dict[SSAValue, Replacement] = {}
        self._replaced: list[Operation] = []
        self._left: list[Operation] = []
        self._converted_blocks: set[Block] = set()
        self._old_arguments: list[BlockArgument] = []
        self._casts: list[UnrealizedConversionCastOp] = []
        self._once: dict[tuple[Block | None, Hashable], SSAValue] = {}
        self._numbers: dict[Block, int] = {}
        self._symbols: set[Attribute | None] | None = None
        self._defined: frozenset[str]
        self._op: Operation
        self._trace = current_trace()
        self._added: list[Operation] = []
        """The new ops of the rule that runs, if somebody observes it."""

    # Interface for rules

    def value(self, old: SSAValue) -> SSAValue:
        """Return the converted form of a value of the old program."""
        new = self._new.get(old)
        if new is None:
            new = self._new[old] = self._cast_to_new(old)
        # Values are of abstract classes, too: to ask for `Parts` takes longer.
        return new if type(new) is OpResult or not isinstance(new, Parts) else new.join()

    def values(self, old: Iterable[SSAValue]) -> list[SSAValue]:
        """Return the converted forms of several values."""
        return [self.value(value) for value in old]

    def parts(self, old: SSAValue) -> Parts | None:
        """Return the parts that replaced `old`, or None if it was not replaced by parts."""
        new = self._new.get(old)
        return new if isinstance(new, Parts) else None

    def add(self, new: OpT) -> OpT:
        """Insert a new op before the op that is being converted."""
        block = self._op.parent
        assert block is not None
        block.insert_op_before(new, self._op)
        new.location = self._op.location
        if self._trace is not None:
            self._added.append(new)
        return new

    def split_block(self) -> tuple[Block, Block]:
        """Split the block before the op that is being converted; the first part needs a new terminator."""
        before = self._op.parent
        assert before is not None
        return before, before.split_before(self._op)

    def once_in_block(self, key: Hashable, make: Callable[[], SSAValue]) -> SSAValue:
        """Return the value that `make` built for `key` earlier in this block, or build it."""
        place = (self._op.parent, key)
        if place not in self._once:
            self._once[place] = make()
        return self._once[place]

    def constant(self, key: Hashable, make: Callable[[], SSAValue]) -> SSAValue:
        """Return the constant that `make` built for `key` earlier, in this block or in the first one of its region, or
        build it."""
        block = self._op.parent
        region = None if block is None else block.parent
        first = None if region is None else region.first_block
        known = self._once.get((first, key))
        return self.once_in_block(key, make) if known is None else known

    def once(self, key: Hashable, make: Callable[[], SSAValue]) -> SSAValue:
        """Return the value that `make` built for `key` earlier, or build it, where it dominates all its users."""
        if (None, key) not in self._once:
            self._once[None, key] = make()
        return self._once[None, key]

    def in_order(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Return values that are all defined before one op, in the order of their definitions. Blocks come in an order
        in which those that dominate others are first."""
        return sorted(values, key=cmp_to_key(lambda a, b: -1 if self._is_before(a, b) else int(a is not b)))

    def _is_before(self, a: SSAValue, b: SSAValue) -> bool:
        blocks = [value.owner if isinstance(value.owner, Block) else value.owner.parent for value in (a, b)]
        if blocks[0] is not blocks[1]:
            return self._number_of(blocks[0]) < self._number_of(blocks[1])
        if isinstance(a.owner, Block) or isinstance(b.owner, Block):
            return isinstance(a.owner, Block) and not isinstance(b.owner, Block)
        return a.owner.is_before_in_block(b.owner)

    def _number_of(self, block: Block | None) -> int:
        """Return a number of a block: it is larger for later blocks of the region."""
        assert block is not None
        assert block.parent is not None
        if block not in self._numbers:  # Blocks that were split have new parts.
            self._numbers |= {block: number for number, block in enumerate(block.parent.blocks)}
        return self._numbers[block]

    def add_after(self, value: SSAValue, new: OpT) -> OpT:
        """Insert a new op directly after the definition of `value`."""
        if isinstance(value.owner, Operation):
            place, source = InsertPoint.after(value.owner), value.owner
        else:
            place, source = InsertPoint.at_start(value.owner), value.owner.parent_op()
            assert source is not None
        Rewriter.insert_op(new, place)
        new.location = source.location
        return new

    def declare(self, name: str, make: Callable[[], Operation], *, at_end: bool = False) -> None:
        """Ensure that the module has a symbol `name`; `make` builds the op that declares it, at its start or end."""
        if name in self._defined:
            fail(self._op, f"calls '{name}' of the C library, expected no other function of that name in the module")
        if self._symbols is None:
            self._symbols = {op.get_attr_or_prop("sym_name") for op in self.module.ops}
        if StringAttr(name) in self._symbols:
            return
        self._symbols.add(StringAttr(name))
        declaration = make()
        for op in declaration.walk():
            op.location = self._op.location
        block = self.module.body.block
        Rewriter.insert_op(declaration, InsertPoint.at_end(block) if at_end else InsertPoint.at_start(block))

    def replace(self, *new: Replacement) -> None:
        """Replace the op that is being converted: one replacement for each of its results."""
        for old, replacement in zip(self._op.results, new, strict=True):
            self.set(old, replacement)
        self._replaced.append(self._op)

    def set(self, old: SSAValue, new: Replacement) -> None:
        """Make `new` the replacement of `old`."""
        self._new[old] = new
        if isinstance(new, SSAValue) and new.name_hint is None:
            new.name_hint = old.name_hint

    def replace_argument(self, old: BlockArgument, new_types: Sequence[Attribute]) -> list[BlockArgument]:
        """Insert block arguments of the types `new_types` in place of `old`, which is erased when the conversion ends.

        The caller sets the replacement of the old argument with `set`.
        """
        new = [old.block.insert_arg(kind, old.index, old.location) for kind in new_types]
        self._old_arguments.append(old)
        return new

    def convert_arguments(self, block: Block) -> None:
        """Convert the types of the arguments of `block`, unless that has been done already."""
        if block in self._converted_blocks:
            return
        self._converted_blocks.add(block)
        for old in block.args:
            new_type = self.types.convert(old.type)
            if new_type != old.type:
                self.set(old, self.replace_argument(old, [new_type])[0])

    # The walk

    def run(self, module: ModuleOp, unconverted: Callable[[Operation], None] | None) -> None:
        """Convert a module, and raise all errors together."""
        self.module = module
        self._defined = frozenset(
            name for op in module.ops if any(r.blocks for r in op.regions) and (name := symbol_of(op))
        )
        problems: list[Diagnostic] = []
        pending: list[Operation] = list(reversed(tuple(module.ops)))
        while pending:
            op = pending.pop()
            # Rules may move nested ops.
            inner = [inner for region in op.regions for block in region.blocks for inner in block.ops]
            self._op = op
            rule = find(self._rules, op)
            replaced = len(self._replaced)
            if rule is not None:
                try:
                    if self._trace is None:
                        rule(op, self)
                    else:
                        self._observe(rule, op, self._trace)
                except PassError as e:
                    # Its regions cannot be converted if it fails.
                    problems += e.diagnostics
                    continue
            elif isinstance(op, UnrealizedConversionCastOp):
                self._casts.append(op)
            if len(self._replaced) == replaced:
                self._left.append(op)
            pending.extend(reversed(inner))
        if not problems:
            self._finish()
        if unconverted is not None:
            # Casts that are left are reported only if nothing else failed.
            problems += _problems(unconverted, self._left)
            problems += [] if problems else _problems(unconverted, self._casts)
        if problems:
            raise PassError(sorted(problems, key=lambda d: (d.file, d.line, d.column)))

    def _observe(self, rule: Rule, op: Operation, trace: Trace) -> None:
        """Apply a rule, and record whether it has replaced the op."""
        count = len(self._replaced)
        self._added.clear()
        with trace.converting(f"convert {op.name}", op) as converted:
            rule(op, self)
            if len(self._replaced) > count:
                new = [self._new.get(result) for result in op.results]
                converted(self._added, [value if isinstance(value, SSAValue) else None for value in new])

    def _finish(self) -> None:
        for op in self._replaced:
            op.operands = ()
        for op in self._replaced:
            for result in op.results:
                self._replace_uses(result)
        for argument in self._old_arguments:
            self._replace_uses(argument)
            argument.block.erase_arg(argument)
        for op in self._replaced:
            op.detach()
            op.drop_all_references()
        for cast in reversed(self._casts):
            self._simplify_cast(cast)

    def _replace_uses(self, old: SSAValue) -> None:
        if old.first_use is None:
            return
        new = self.value(old)
        old.replace_all_uses_with(new if new.type == old.type else self._cast(new, old.type))

    def _cast_to_new(self, old: SSAValue) -> SSAValue:
        new_type = self.types.convert(old.type)
        if new_type == old.type:
            return old
        match old.owner:
            case UnrealizedConversionCastOp(inputs=(source,)) if source.type == new_type:
                return source
            case _:
                return self._cast(old, new_type)

    def _cast(self, value: SSAValue, to: Attribute) -> SSAValue:
        cast = self.add_after(value, UnrealizedConversionCastOp.get([value], [to]))
        self._casts.append(cast)
        return cast.results[0]

    def _simplify_cast(self, cast: UnrealizedConversionCastOp) -> None:
        if len(cast.inputs) == len(cast.results) == 1 and isinstance(cast.inputs[0].owner, UnrealizedConversionCastOp):
            inner, result = cast.inputs[0].owner, cast.results[0]
            if inner.inputs.types == (result.type,):
                result.replace_all_uses_with(inner.inputs[0])
        self._drop_unused(cast)

    def _drop_unused(self, cast: UnrealizedConversionCastOp) -> None:
        if cast.parent is None or any(result.first_use is not None for result in cast.results):
            return
        sources = [source.owner for source in cast.inputs]
        cast.detach()
        cast.drop_all_references()
        for source in sources:
            if isinstance(source, UnrealizedConversionCastOp):
                self._drop_unused(source)


Rule = Callable[[Any, Conversion], None]

ConversionTable = Table[type[Operation], Rule]
"""A table of conversion rules by kind of op.

A rule gets the op and the running `Conversion`. It reads operands with `conversion.value(op.lhs)`, adds new ops with
`conversion.add(...)`, and ends with `conversion.replace(...)`, or returns without it to leave the op alone.
"""


def convert(
    module: ModuleOp,
    table: Mapping[type[Operation], Rule],
    types: TypeConverter,
    unconverted: Callable[[Operation], None] | None = None,
) -> None:
    """Convert every op of `module` that `table` has a rule for, in place.

    `unconverted` is called with every op that is left over, casts included; a conversion that must be complete fails
    there. Errors of rules and `unconverted` are collected and raised together, as one `PassError`, and the module is
    left half converted. The cost is linear in the number of ops.
    """
    Conversion(table, types).run(module, unconverted)


def _problems(visit: Callable[[Operation], None], ops: Iterable[Operation]) -> list[Diagnostic]:
    """Return the errors of a function that may fail on each op: all of them, not only the first."""
    problems: list[Diagnostic] = []
    for op in (op for op in ops if op.parent is not None):
        try:
            visit(op)
        except PassError as e:
            problems += e.diagnostics
    return problems


class ConversionPass(RelexPass, ABC):
    """Converts the ops that its table has rules for, and leaves all others as they are."""

    table: ClassVar[ConversionTable]
    types: ClassVar[TypeConverter]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, self.table, self.types)
