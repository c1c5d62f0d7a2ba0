"""
Schedule primitives: legality-checked transformations of the loops of a function, addressed by name.

Each is a function on loops and blocks in a file of its own, registered in one table under its op of the `schedule`
dialect; `Schedule` and `apply-schedule` look it up there. A primitive that does not apply fails with a reason, and
leaves the meaning of the program unchanged.
"""

from relex.passes.schedule import cache_read as cache_read
from relex.passes.schedule import cache_write as cache_write
from relex.passes.schedule import compact_buffer as compact_buffer
from relex.passes.schedule import compute_at as compute_at
from relex.passes.schedule import compute_inline as compute_inline
from relex.passes.schedule import decompose_reduction as decompose_reduction
from relex.passes.schedule import fuse as fuse
from relex.passes.schedule import label_loops as label_loops
from relex.passes.schedule import loop_kinds as loop_kinds
from relex.passes.schedule import order_as_integers as order_as_integers
from relex.passes.schedule import pad as pad
from relex.passes.schedule import partition as partition
from relex.passes.schedule import reorder as reorder
from relex.passes.schedule import reverse_compute_at as reverse_compute_at
from relex.passes.schedule import reverse_compute_inline as reverse_compute_inline
from relex.passes.schedule import rfactor as rfactor
from relex.passes.schedule import split as split
from relex.passes.schedule import transform_layout as transform_layout
from relex.passes.schedule import unguard as unguard
from relex.passes.schedule.schedule import Block, Loop, Schedule
from relex.passes.schedule.table import apply_primitive, primitive, reason_of

__all__ = ["Block", "Loop", "Schedule", "apply_primitive", "primitive", "reason_of"]
