"""What a program computes, once more, in wider precision: the third opinion beside NumPy's and compiled code's.

`numbers` has numbers that lie between two others, `arithmetic` the functions of them, each with its rounding;
`formulas` is the table of what operators are, from which `graphs` follows a program; `scalars` has those of ops on
numbers, to which `loops` holds each op of a loop function. None of it uses how operators define themselves, or how the
interpreter computes.
"""
