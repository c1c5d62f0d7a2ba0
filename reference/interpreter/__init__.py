"""The reference interpreter: what a program means, at every level, one op after the other.

Every op is made ready once, as a Python function on the values of its function (`program`), and running is calling
these in order. What an op means stands in one table a dialect: `graph`, `loops`, `memref`, `arith`, `math`, `control`.
"""
