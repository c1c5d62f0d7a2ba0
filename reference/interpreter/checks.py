"""Checks of a checked run: use of freed memory, and conflicting accesses of iterations."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import in_line, name_of, stop
from relex.dialects.tir import BlockOp
from relex.reference.interpreter.memory import Buffer, Memory

Index = tuple[int, ...]

MONITOR = ContextVar["Monitor"]("monitor")
"""The monitor of the checked run that is under way."""


class Monitor:
    """Watches the accesses of one run."""

    def __init__(self) -> None:
        self._open: list[Touches] = []

    def frees(self, op: Operation, name: SSAValue, buffer: Buffer) -> None:
        """Record that `op` frees a buffer; stops if it was freed before. Errors refer to it as `name`."""
        memory = buffer.memory
        if memory.freed_by is not None:
            stop(op, f"expected memory that is in use, found {name_of(name)}, freed before{in_line(memory.freed_by)}")
        memory.freed_by = op

    def uses(self, op: Operation, name: SSAValue, buffer: Buffer) -> None:
        """Stop if `op` uses a freed buffer; called before its elements are accessed."""
        if (freed_by := buffer.memory.freed_by) is not None:
            stop(op, f"expected memory that is in use, found {name_of(name)}, freed{in_line(freed_by)}")

    def reads(self, op: Operation, name: SSAValue, buffer: Buffer, index: Index) -> None:
        """Record that `op` reads an element."""
        for touches in self._open:
            touches.note_read(op, name, buffer, index)

    def writes(self, op: Operation, name: SSAValue, buffer: Buffer, index: Index) -> None:
        """Record that `op` writes an element."""
        for touches in self._open:
            touches.note_write(op, name, buffer, index)

    def begin(self, touches: Touches) -> None:
        """Attribute accesses from now on to the current iteration of `touches`, besides those begun before."""
        self._open.append(touches)

    def end(self, touches: Touches) -> None:
        """Stop attributing accesses to `touches`, which was begun last."""
        assert self._open.pop() is touches


@contextmanager
def watching() -> Generator[None]:
    """Give a run its own monitor."""
    token = MONITOR.set(Monitor())
    try:
        yield
    finally:
        MONITOR.reset(token)


class Touches:
    """Records which iteration of a loop, or which values of a block's spatial variables, accessed each element."""

    def __init__(self, scope: Operation, variables: Sequence[SSAValue]):
        self._scope = scope
        self._variables = variables
        self._writers: dict[tuple[Memory, int], Index] = {}
        self._readers: dict[tuple[Memory, int], list[Index]] = {}
        self.current: Index = ()

    def note_read(self, op: Operation, name: SSAValue, buffer: Buffer, index: Index) -> None:
        """Record a read; stops at `op` if another iteration wrote the element before."""
        place = buffer.place(index)
        writer = self._writers.get(place, self.current)
        if writer != self.current:
            self._stop(op, name, index, f"written at {self._name(writer)} and read at {self._name(self.current)}")
        # Two readers suffice: at least one is not the iteration that writes.
        readers = self._readers.setdefault(place, [])
        if len(readers) < 2 and self.current not in readers:
            readers.append(self.current)

    def note_write(self, op: Operation, name: SSAValue, buffer: Buffer, index: Index) -> None:
        """Record a write; stops at `op` if another iteration wrote or read the element before."""
        place = buffer.place(index)
        first = self._writers.setdefault(place, self.current)
        if first != self.current:
            found = f"{name_of(name)}{list(index)} written at {self._name(first)} and at {self._name(self.current)}"
            stop(op, f"expected one {self._kind()} to write an element, found {found}")
        reader = next((other for other in self._readers.get(place, ()) if other != self.current), None)
        if reader is not None:
            self._stop(op, name, index, f"read at {self._name(reader)} and written at {self._name(self.current)}")

    def _stop(self, op: Operation, name: SSAValue, index: Index, meeting: str) -> None:
        found = f"{name_of(name)}{list(index)} {meeting}"
        stop(op, f"expected one {self._kind()} to use an element that is written, found {found}")

    def _kind(self) -> str:
        if isinstance(self._scope, BlockOp):
            return f"value of the spatial variables of block @{self._scope.block_name.data}"
        return f"iteration of the parallel loop{in_line(self._scope)}"

    def _name(self, values: Index) -> str:
        return ", ".join(f"{name_of(v)} = {i}" for v, i in zip(self._variables, values, strict=True))
