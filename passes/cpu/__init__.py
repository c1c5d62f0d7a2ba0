"""
The default CPU schedule: which steps apply to a block, judged by its memory accesses.

`rules/` has one rule a file and nothing else; `table.py` says in which order they are tried. The model that they share
is here: `cost.py` has every number, `reductions.py` and `reduction_axes.py` show a block as a reduction,
`register_tiles.py` finds the tile that fits the registers of a processor, and `steps.py` has steps that several rules
take. `shared_loops.py` and `cycles.py` look at whole nests, for `share-loops`.
"""
