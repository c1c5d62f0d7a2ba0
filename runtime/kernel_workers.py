"""Kernels of large programs are compiled by several processes: each group of operators that is not known alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.dtypes import dense_bytes
from relex.dialects.exceptions import RelexError
from relex.dialects.relex import Operator
from relex.dialects.relex.elementwise import Elementwise
from relex.dialects.table import entered_by_others
from relex.dialects.upstream.printer import printed
from relex.dialects.walks import walk
from relex.lowering.kernels.alone import KernelGroup, alone
from relex.lowering.kernels.loop_kernels import LoopFunction
from relex.lowering.support.worker_pool import WorkerPool, WorkerProcess, share_out, workers_wanted
from relex.passes.analysis.constant_inputs import constant_of, is_constant
from relex.passes.driver.activity import doing, reach
from relex.runtime.container import pack, unpack
from relex.runtime.gc_pause import UNCOLLECTED
from relex.runtime.kernel_cache import CLAIMS, Entry, Kernel, KernelCache, Kernels, Text, key_of_loops

MIN_GROUPS = 24
"""The number of groups from which on other processes pay off. A group takes a tenth of a second, a process half of a
second to start."""

GROUPS_OF_A_WORKER = 8
"""The least number of groups for each process."""

MOST_AT_ONCE = 8
"""The number of groups that are compiled together at most: passes take a while on any module."""

PATIENCE = 30.0
"""The time limit of a process in seconds, and as many for each group."""

MAX_CONSTANTS = 2**24
"""The bytes of constants of a group that is shared out at most: numbers that stand for them are packed as they are."""

GARBAGE = 2**26
"""The bytes of constants for which garbage is collected: modules of groups are cyclic, and hold packed copies."""

POOL = WorkerPool("relex.runtime.kernel_worker")


@dataclass(frozen=True)
class Compiled:
    """What a process has compiled, as entries of the cache of kernels."""

    kernels: Mapping[str, Kernel] = field(default_factory=dict[str, Kernel])
    texts: Mapping[str, Text] = field(default_factory=dict[str, Text])
    loops: Mapping[str, LoopFunction] = field(default_factory=dict[str, LoopFunction])


def expect_work(program: ModuleOp, kernels: Kernels) -> None:
    """Start other processes if a program will have many groups that are not known: they are ready when it has been read
    and its graph has been simplified."""
    if workers_wanted() < 1 or entered_by_others():
        return
    kinds = {
        f"{op.name} {op.operand_types} {op.result_types}"
        for op in walk(program)
        if isinstance(op, Operator) and not isinstance(op, Elementwise)
    }
    if len(kinds) >= MIN_GROUPS:
        described = sha256("\n".join(sorted(kinds)).encode()).hexdigest()
        if kernels.recall("operators", described) is None:
            kernels.remember("", "operators", described)
            POOL.start(len(kinds) // GROUPS_OF_A_WORKER)


def compile_ahead(
    module: ModuleOp,
    groups: Sequence[KernelGroup],
    *,
    strict: bool,
    cache: KernelCache,
    here: Callable[[ModuleOp, Kernels, bool], None],
) -> None:
    """Compile groups of a module in several processes, if there are many, and put their code into a cache. `here`
    compiles some of them in this process. Those that another build compiles are waited for. Groups that are not
    compiled stay unknown."""
    groups = [group for group in groups if _bytes_of_constants(group) <= MAX_CONSTANTS]
    others = min(workers_wanted(), len(groups) // GROUPS_OF_A_WORKER) if len(groups) >= MIN_GROUPS else 0
    if others < 1 or entered_by_others():
        return

    garbage, done = 0, list[KernelGroup]()

    def compile_here(some: Sequence[KernelGroup]) -> None:
        nonlocal garbage
        reach(some[0].function.sym_name.data, len(done), len(groups))
        garbage += sum(map(_bytes_of_constants, some))
        with suppress(Exception):  # Errors are reported when the program itself is lowered.
            here(alone(module, some), Kernels(cache), strict)
        if garbage > GARBAGE:
            UNCOLLECTED.collect_if_many(0)
            garbage = 0
        done.extend(some)

    def compile_there(worker: WorkerProcess, some: Sequence[KernelGroup]) -> None:
        text, head = printed(alone(module, some)), {"compiler": cache.compiler, "strict": strict}
        _, data = worker.ask(head, text.encode(), PATIENCE * (1 + len(some)))
        try:
            found = unpack(Compiled, memoryview(data))
        except RelexError as e:
            raise ValueError(str(e)) from e
        cache.put({**found.kernels, **found.texts, **found.loops})
        done.extend(some)

    keys = {key_of_loops(cache, group.recipe): group for group in groups}
    with doing("Kernels"):
        with CLAIMS.claimed(keys) as mine:
            groups = [group for key, group in keys.items() if key in mine]
            share_out(groups, compile_here, compile_there, POOL, min(others, len(groups)), MOST_AT_ONCE)
        CLAIMS.wait_for(keys)


def _bytes_of_constants(group: KernelGroup) -> int:
    constants = (constant_of(value) for value in group.calls[0].arguments if is_constant(value))
    return sum(len(dense_bytes(constant.value)) for constant in constants)


class Collected(KernelCache):
    """What another process wants to be compiled: it is not kept in this one."""

    def __init__(self, compiler: str):
        super().__init__(compiler, None)
        self.entries: dict[str, Entry] = {}

    def put(self, entries: Mapping[str, Entry]) -> None:
        self.entries.update(entries)

    def packed(self) -> bytes:
        """Return the entries as bytes."""

        def of(kind: type[Any]) -> dict[str, Any]:
            return {key: entry for key, entry in self.entries.items() if isinstance(entry, kind)}

        return b"".join(pack(Compiled(of(Kernel), of(Text), of(LoopFunction))))
