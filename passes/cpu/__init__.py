"""
Rules of the default schedule: which steps suit a block, by how it accesses memory.

Each is a function in a file of its own, entered into the table of `table.py`; other packages may add theirs. They are
tried in order; one that does not suit a block says why.
"""
