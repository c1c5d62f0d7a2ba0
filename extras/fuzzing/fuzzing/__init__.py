"""Programs that are made to find mistakes in passes.

`graphs` makes random graphs of operators, `structures` such as networks have, `loops` random loop functions, `examples`
graphs that the left side of a rule describes, `variants` changes programs a little, `trials` runs a pass on one
program, and `fuzz` does so for many.
"""
