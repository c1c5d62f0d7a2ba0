"""The reference interpreter: the semantics of programs at every level, executed op by op.

Each op is prepared once, as a Python function on the values of its function (`program`); running calls these in order.
The semantics of ops are in one table per dialect: `graph`, `loops`, `memref`, `arith`, `math`, `control`.
"""
