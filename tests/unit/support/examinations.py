"""Examinations that end in many ways, for the process that runs them."""

from __future__ import annotations

import os
import signal
import sys
from threading import Thread
from time import sleep
from typing import Any


def examine(way: str, stage: Any) -> None:
    """Begin, and end in some way."""
    stage("a call takes too long", compile=1.5)
    match way:
        case "right":
            stage("right", time=1.0, other=2.0)
        case "raises":
            raise ValueError("expected\n  a | b")
        case "raises without a message":
            raise ValueError
        case "hangs":
            sleep(1000)
        case "hangs at its end":
            stage("right")
            Thread(target=sleep, args=(1000,)).start()  # Python waits for it.
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exits":
            sys.exit(3)
        case "needs memory":
            stage("right", size=len(bytes(2**31)))
        case _:
            raise AssertionError(way)


def blame(verdict: str, message: str) -> str:
    """Say what was under way."""
    return f"{verdict.partition(' takes')[0]}: {message}"
