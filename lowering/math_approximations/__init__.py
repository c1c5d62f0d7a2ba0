"""Functions of `math` as formulas in `arith`."""
