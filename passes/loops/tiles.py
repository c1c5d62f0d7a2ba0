"""How large a part of a matrix product is kept in vector registers, and on which CPU."""

from __future__ import annotations

from dataclasses import dataclass

from relex.dialects.target import Target

LATENCY = 8
"""Sums that must be under way at once for an addition to start in every half cycle, as each takes four cycles."""

COST_OF_A_COPY = 0.03
"""What it costs, as a share of the whole, to copy an operand to where it has room for tiles that are not full."""

MAX_ROWS = 16
"""Of a tile; more are more code, and not faster."""

MAX_VECTORS = 8
"""Of a row of a tile."""


@dataclass(frozen=True)
class VectorUnit:
    """The vector registers of a CPU."""

    bits: int
    registers: int

    @classmethod
    def of(cls, target: Target | None) -> VectorUnit | None:
        """Those of a target, or None if nothing is known of them."""
        if target is None or not target.triple.startswith("x86_64"):
            return None
        if "avx512f" in target.enabled:
            return cls(512, 32)
        return cls(256, 16) if "avx2" in target.enabled else cls(128, 16)


@dataclass(frozen=True)
class Tile:
    """`rows` rows of `vectors` vectors of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    def cost(self, rows: int, columns: int) -> float:
        """What a product of so many rows and columns takes by such tiles, for each term of its sums.

        Two multiplications, or two loads, start in a cycle; a tile loads its vectors of a row, and one element for each
        row. Few sums leave time unused.
        """
        sums = self.rows * self.vectors
        of_a_tile = max(sums, self.rows + self.vectors, LATENCY) * (1 + 1 / sums)
        copies = bool(rows % self.rows) + bool(columns % self.columns)
        return -(-rows // self.rows) * -(-columns // self.columns) * of_a_tile * (1 + COST_OF_A_COPY * copies)


def best_tile(rows: int, columns: int, lanes: int, registers: int) -> Tile:
    """The cheapest tile that fits into the registers, next to a row of vectors and an element of the other operand."""
    tiles = [
        Tile(height, vectors, lanes)
        for vectors in range(1, MAX_VECTORS + 1)
        for height in range(1, min(rows, MAX_ROWS, (registers - 1 - vectors) // vectors) + 1)
    ]
    return min(tiles, key=lambda tile: (tile.cost(rows, columns), tile.vectors, tile.rows))
