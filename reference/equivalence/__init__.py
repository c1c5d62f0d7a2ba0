"""Equivalence checks: whether a pass preserves what functions compute.

`check` runs functions before and after a pass, `samples` generates their arguments, `execution` runs them at any level,
`bounds` limits how far two correct results may lie apart, `reduction` shrinks a program that shows a difference.
"""
