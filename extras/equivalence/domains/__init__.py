"""Domains: what else a program may compute with in place of numbers, such as bounds or symbols.

A domain implements the functions of `arith` and `math` (`domain`). `Elements` are arrays of it that NumPy's functions
work on, so that operators evaluate on them by their own definitions (`operators`); `DomainNumbers` runs programs of any
level on them.
"""
