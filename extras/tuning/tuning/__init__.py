"""Schedules found by measuring: `relex-tune`.

`candidates` makes schedules other than the default, `harness` compiles and measures one loop function, `tuner` goes
through the loop functions of a program, and `record` is the file of what was found.
"""
