"""Many generated programs, each held to what must be true of it: `relex-fuzz`.

`subjects` say what a program is and what must be true of it, one file each, listed in `table`; `trial` runs one program
and reduces a failing one to a file; `workers` runs many of them in separate processes; `state` remembers how far a
campaign has come.
"""
