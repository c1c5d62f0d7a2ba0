"""How large a part of a matrix product is kept in vector registers, and on which CPU."""

from __future__ import annotations

from dataclasses import dataclass

from relex.dialects.target import Target

LATENCY = 8
"""Sums that must be under way at once for an addition to start in every half cycle, as each takes four cycles."""

COST_OF_EDGES = 0.02
"""What it costs, as a share of the whole, that not all tiles are alike, or that some are not stored as a whole."""

MAX_ROWS = 16
"""Of a tile; more are more code, and not faster."""

LOW = 4
"""Rows of a tile for what is left over of a number that is known at run time only."""

MAX_VECTORS = 8
"""Of a row of a tile."""

MAX_COPIES = 32
"""Copies of a block that unrolled loops make, as many as there are vectors in the largest tile; more are more code, and
not faster."""


@dataclass(frozen=True)
class VectorUnit:
    """The vector registers of a CPU."""

    bits: int
    registers: int
    has_maximum: bool = False
    """Whether an instruction gives the larger of two floats, or NaN if one is NaN, as `arith.maximumf` does."""

    @classmethod
    def of(cls, target: Target | None) -> VectorUnit | None:
        """Those of a target, or None if nothing is known of them."""
        # The tools start without LLVM.
        from relex.dialects.features import has_feature

        if target is None:
            return None
        architecture = target.triple.partition("-")[0]
        if architecture == "aarch64":
            return cls(128, 32, has_maximum=True)
        if architecture != "x86_64":
            return None
        if has_feature(target, "avx512f"):
            return cls(512, 32)
        return cls(256, 16) if has_feature(target, "avx2") else cls(128, 16)


@dataclass(frozen=True)
class Tile:
    """`rows` rows of `vectors` vectors of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    def fits(self, registers: int) -> bool:
        """Whether so many registers hold it, next to a row of vectors and an element of the other operand. What is used
        for one row only is multiplied as it is loaded."""
        loaded = self.vectors if self.rows > 1 else 1
        return self.vectors <= MAX_VECTORS and self.rows * self.vectors + loaded + 1 <= registers

    def heights(self, rows: int | None, step: int = 1) -> list[int]:
        """Of the tiles that go through so many rows: of this one, and of those for what it leaves over, one after the
        other. None are rows that are counted at run time, `step` at once."""
        if rows is None:
            lower = sorted({LOW // step * step, step} - {0}, reverse=True)
            return [self.rows, *(height for height in lower if height < self.rows)]
        return [height for height in (min(self.rows, rows), rows % self.rows if rows > self.rows else 0) if height]

    def cost(self, rows: int | None, columns: int) -> float:
        """What a product of so many rows and columns takes by such tiles, for each term of its sums."""
        panels = -(-columns // self.columns)
        if rows is None:
            return panels * self._time(self.rows) / self.rows
        full, rest = divmod(rows, self.rows)
        edges = bool(rest) + bool(columns % self.columns)
        return panels * (full * self._time(self.rows) + self._time(rest)) * (1 + COST_OF_EDGES * edges)

    def _time(self, rows: int) -> float:
        """What a tile of so many rows takes: two multiplications, or two loads, start in a cycle; it loads its vectors
        of a row, and one element for each row. Few sums leave time unused."""
        sums = rows * self.vectors
        if not sums:
            return 0
        return max(sums, rows + self.vectors, LATENCY) * (1 + 1 / sums)


def best_tile(rows: int | None, columns: int, lanes: int, registers: int, step: int = 1) -> Tile:
    """The cheapest tile that fits into the registers, with a multiple of `step` rows."""
    heights = range(step, max(step, min(rows or MAX_ROWS, MAX_ROWS)) + 1, step)
    widths = range(1, min(-(-columns // lanes), MAX_VECTORS) + 1)
    tiles = [Tile(height, vectors, lanes) for vectors in widths for height in heights]
    fitting = [tile for tile in tiles if tile.fits(registers)]
    return min(fitting, key=lambda tile: (tile.cost(rows, columns), tile.vectors, tile.rows))
