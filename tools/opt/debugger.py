"""`--pdb`: Python's debugger at the line of a pass that goes wrong."""

from __future__ import annotations

import pdb
import sys
from collections.abc import Generator
from contextlib import contextmanager

from xdsl.utils.exceptions import ShrinkException

from relex.dialects.errors import describe
from relex.passes.driver.crashes import crash_of


@contextmanager
def debugging() -> Generator[None]:
    """Open the debugger where an exception comes from; when it is left, the exception goes on."""
    try:
        yield
    except ShrinkException:
        raise
    except Exception as e:
        crash = crash_of(e)
        print(describe(e), file=sys.stderr)
        pdb.post_mortem(e.__traceback__ if crash is None else crash.traceback)
        raise
