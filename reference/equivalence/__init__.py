"""Whether a pass keeps what functions compute.

`check` runs functions before and after a pass, `samples` makes what they run on, `execution` runs them at any level,
`bounds` says how far two right results may lie apart, `reduction` makes a program smaller that shows a difference.
"""
