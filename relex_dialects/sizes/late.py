"""Late sizes: those that depend on elements of tensors, so that they are known only in the middle of a run.

A type rule says `data_size("rows")` for such a size of a result. In a graph function, it has a name like a size of an
argument, from the op on that determines it; so has an index that a call states as a size and that does not follow from
the sizes of the arguments. What ops require of late sizes is checked as soon as these are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.index.expr import name_of_size, named, names_in
from relex.dialects.sizes.expressions import Size
from relex.dialects.sizes.requirements import Requirement

_MARK = "?"


def data_size(name: str) -> Size:
    """Return a size of a result that depends on elements. Type rules tell such sizes apart by names."""
    return named(_MARK + name)


def is_data_name(name: str) -> bool:
    """Return whether `data_size` made a name."""
    return name.startswith(_MARK) and name != _MARK


def data_name(size: Size) -> str | None:
    """Return the name that a size has by `data_size`; None for other sizes."""
    name = name_of_size(size)
    return name.removeprefix(_MARK) if name is not None and is_data_name(name) else None


@dataclass(frozen=True)
class LateSize:
    """Where a late size comes from: the value of an index, or a dimension of a tensor."""

    value: SSAValue
    dimension: int
    place: float
    """Sizes of smaller places are known before."""

    @property
    def block(self) -> Block | None:
        """The block from whose middle on it is known."""
        return self.value.owner if isinstance(self.value.owner, Block) else self.value.owner.parent


@dataclass(frozen=True)
class LateCheck:
    """A requirement that can be checked only in the middle of a run: after a value has been computed, before all else
    that depends on it, or at the start of a branch, which alone requires it."""

    requirement: Requirement
    after: SSAValue | Block
    found: Size
    """The side of it that depends on elements, if one does: its value is what an error names."""
    op: Operation
    """The op that requires it."""

    @property
    def message(self) -> str:
        """What an error says, before the number that was found."""
        return f"'{self.op.name}' expected {self.requirement}"


@dataclass(frozen=True)
class LateSizes:
    """The late sizes of a function, by name, and what has to be checked of them."""

    sources: Mapping[str, LateSize] = field(default_factory=dict[str, LateSize])
    checks: Sequence[LateCheck] = ()
    known: Mapping[str, tuple[SSAValue, int]] = field(default_factory=dict[str, tuple[SSAValue, int]])
    """The arguments, and their dimensions, that have the other sizes that checks are about."""

    @property
    def places(self) -> Mapping[str, tuple[SSAValue, int]]:
        """Where all sizes come from that checks are about."""
        return {**self.known, **{name: (size.value, size.dimension) for name, size in self.sources.items()}}

    def moved(self, values: Mapping[SSAValue, SSAValue]) -> LateSizes:
        """Return the same sizes, of values that take the place of others."""
        sources = {name: replace(s, value=values.get(s.value, s.value)) for name, s in self.sources.items()}
        return replace(self, sources=sources)

    def last_in(self, *sizes: Size) -> LateSize | None:
        """Return the one that is known last of all in expressions; None if there is none."""
        found = [self.sources[name] for size in sizes for name in names_in(size) if name in self.sources]
        return max(found, key=lambda late: late.place, default=None)
