"""The tile of a matrix product that is kept in the vector registers of a CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relex.dialects.tir import ForOp
from relex.passes.cpu import cost


@dataclass(frozen=True)
class Tile:
    """`rows` rows of `vectors` vectors of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.vectors * self.lanes

    def fits(self, registers: int) -> bool:
        """Return whether the registers hold the tile, next to a row of vectors and an element of the other operand. A
        vector that is used for one row only is multiplied as it is loaded."""
        loaded = self.vectors if self.rows > 1 else 1
        return self.vectors <= cost.MAX_VECTORS and self.rows * self.vectors + loaded + 1 <= registers

    def heights(self, rows: int | None, step: int = 1, low: Sequence[int] = cost.LOW_ROWS) -> list[int]:
        """Return the heights of the tiles for a number of rows: this one, and then those for the remainder. If `rows`
        is None, the rows are counted at run time, in multiples of `step`, and `low` are the heights for the
        remainder."""
        if rows is None:
            lower = sorted(({height // step * step for height in low} | {step}) - {0}, reverse=True)
            return [self.rows, *(height for height in lower if height < self.rows)]
        return [height for height in (min(self.rows, rows), rows % self.rows if rows > self.rows else 0) if height]

    def cost(self, rows: int | None, columns: int, load: float = 1, element: float = 1) -> float:
        """Return the cost of a product of `rows` and `columns` in such tiles, per term of its sums, where `load` is
        the cost of loading a vector, and `element` the cost of loading an element of a row by itself. If rows are
        counted at run time, it is the cost of one of them."""
        panels = -(-columns // self.columns)
        if rows is None:
            return panels * self._time(self.rows, load, element) / self.rows
        full, rest = divmod(rows, self.rows)
        edges = bool(rest) + bool(columns % self.columns)
        time = full * self._time(self.rows, load, element) + self._time(rest, element=element)
        return panels * time * (1 + cost.COST_OF_EDGES * edges)

    def _time(self, rows: int, load: float = 1, element: float = 1) -> float:
        """Return the time of a tile of `rows` rows: two multiplications, or two loads from the first-level cache,
        start in each cycle; the tile loads its vectors of a row, and one element for each row. Few sums leave units
        idle."""
        sums = rows * self.vectors
        if not sums:
            return 0
        return max(sums, rows + load * self.vectors, element * rows, cost.LATENCY) * (1 + 1 / sums)


def best_tile(
    rows: int | None, columns: int, lanes: int, registers: int, step: int, cost_of: Callable[[Tile], float]
) -> Tile:
    """Return the cheapest tile that fits into the registers, with a multiple of `step` rows."""
    heights = range(step, max(step, min(rows or cost.MAX_ROWS, cost.MAX_ROWS)) + 1, step)
    widths = range(1, min(-(-columns // lanes), cost.MAX_VECTORS) + 1)
    tiles = [Tile(height, vectors, lanes) for vectors in widths for height in heights]
    return min((tile for tile in tiles if tile.fits(registers)), key=cost_of)


def heights_of_rows(rows: ForOp | None, most: int) -> list[int]:
    """Return the heights of tiles for some rows: one that divides them, or else two."""
    if rows is None:
        return [1]
    if not isinstance(rows.extent, int):
        return [min(most, cost.LOW_ROWS[0]), 1]
    height = max(n for n in range(1, most + 1) if rows.extent % n == 0)
    if 2 * height > most or height == rows.extent:
        return [height]
    return [most, rows.extent % most]
