"""Programs evaluated once more, in wider precision: a third opinion besides NumPy's and compiled code's.

`numbers` has numbers that lie between two others, `arithmetic` the functions of them, each with its rounding;
`formulas` is the table of formulas of operators, by which `graphs` evaluates a program; `scalars` has the formulas of
ops on numbers, against which `loops` checks each op of a loop function. None of it uses how operators define
themselves, or how the interpreter computes.
"""
