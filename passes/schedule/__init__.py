"""
Schedule primitives: legality-checked transformations of the loops of a function, addressed by name.

Each is a function on loops and blocks, in a file with those that it has much in common with, registered in one table
under its op of the `schedule` dialect; `Schedule` and `apply-schedule` look it up there. A primitive that does not
apply fails with a reason, and leaves the meaning of the program unchanged.
"""

from importlib import import_module
from pkgutil import iter_modules

from relex.passes.schedule.arguments import Block, Loop
from relex.passes.schedule.primitive_table import apply_primitive, primitive
from relex.passes.schedule.schedule import Schedule

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")  # It registers its primitives.

__all__ = ["Block", "Loop", "Schedule", "apply_primitive", "primitive"]


def __dir__() -> list[str]:
    return __all__
