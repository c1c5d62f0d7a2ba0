"""What a checked run looks at beside the values: freed memory, and iterations that write one element."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import locate, name_of, stop
from relex.dialects.tir import BlockOp
from relex.runtime.interpreter.memory import Buffer

Index = tuple[int, ...]


class Monitor:
    """Watches over one run."""

    def __init__(self) -> None:
        self._open: list[Writes] = []

    def frees(self, op: Operation, name: SSAValue, buffer: Buffer) -> None:
        """`op` gives back the buffer called like the value `name`."""
        if buffer.freed_by is not None:
            stop(op, f"expected memory that is in use, found {name_of(name)}, freed before{_place(buffer.freed_by)}")
        buffer.freed_by = op

    def reads(self, op: Operation, name: SSAValue, buffer: Buffer) -> None:
        if buffer.freed_by is not None:
            stop(op, f"expected memory that is in use, found {name_of(name)}, freed{_place(buffer.freed_by)}")

    def writes(self, op: Operation, name: SSAValue, buffer: Buffer, index: Index) -> None:
        self.reads(op, name, buffer)
        for writes in self._open:
            writes.note(op, name, buffer, index)

    def begin(self, writes: Writes) -> None:
        """From now on writes belong to the current iteration of `writes`, as well as to those begun before."""
        self._open.append(writes)

    def end(self, writes: Writes) -> None:
        assert self._open.pop() is writes


class Writes:
    """Which iteration of a loop, or which values of a block's spatial variables, wrote each element."""

    def __init__(self, scope: Operation, variables: Sequence[SSAValue]):
        self._scope = scope
        self._variables = variables
        self._writers: dict[tuple[Buffer, Index], Index] = {}
        self.current: Index = ()

    def note(self, op: Operation, name: SSAValue, buffer: Buffer, index: Index) -> None:
        """Stop at `op` if another iteration wrote the element before."""
        first = self._writers.setdefault((buffer, index), self.current)
        if first == self.current:
            return
        place = ", ".join(map(str, index))
        found = f"{name_of(name)}[{place}] written at {self._name(first)} and at {self._name(self.current)}"
        stop(op, f"expected one {self._kind()} to write an element, found {found}")

    def _kind(self) -> str:
        if isinstance(self._scope, BlockOp):
            return f"value of the spatial variables of block @{self._scope.block_name.data}"
        return f"iteration of the parallel loop{_place(self._scope)}"

    def _name(self, values: Index) -> str:
        return ", ".join(f"{name_of(v)} = {i}" for v, i in zip(self._variables, values, strict=True))


def _place(op: Operation) -> str:
    place = locate(op.location)
    return f" in line {place.line.data}" if place is not None else ""
