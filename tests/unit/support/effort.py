"""How much work something is, in a number that does not depend on the machine and what else it does."""

import sys
from collections.abc import Callable
from types import FrameType


def count_calls(action: Callable[[], object]) -> int:
    """How many functions are called, in Python and from Python."""
    calls = 0

    def see(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls
