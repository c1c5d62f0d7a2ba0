"""
Rules of the default CPU schedule: which steps suit a block, judged by its memory accesses.

Each rule is a function in a file of its own, registered in the table of `table.py`; other packages may add theirs. They
are tried in order; a rule that does not suit a block gives a reason.
"""
