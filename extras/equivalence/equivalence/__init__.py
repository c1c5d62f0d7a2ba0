"""Equivalence checks: whether a pass preserves what functions compute.

`check` follows a program from pass to pass. `references` are its functions as they were before, `call_after` says how
to call them afterwards, `differences` has the errors. `samples` generates arguments, `execution` runs functions at any
level, `bounds` limits how far two correct results may lie apart, `reduction` shrinks a program that shows a difference.
"""
