"""Programs evaluated once more, on intervals in wider precision.

`numbers` has numbers that lie between two others, `arithmetic` the functions of them, each with its rounding; `domain`
is the domain of both, in which `graphs` evaluates a program, operator by operator, and with which `loops` compares each
op of a loop function. None of the arithmetic uses how the interpreter computes.
"""
