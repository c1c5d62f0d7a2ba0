"""Approximations of `math` functions in `arith`."""
