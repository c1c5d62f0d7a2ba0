"""Proofs that functions before and after a pass compute the same, for all values of their arguments.

Functions run on symbols in place of numbers: `terms` are the symbols, `numbers` lets the interpreter run on them,
`refinement` compares the results, and `proof` puts these together.
"""
