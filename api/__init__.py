"""An ML compiler: lowers graphs of tensor operators and loop functions to native code for CPUs.

    import relex

    ex = relex.build("model.mlir")        # compile a program
    y = ex["main"](x)                     # run one of its functions on NumPy arrays
    ex.save("model.relex")                # relex.load("model.relex") needs no compiler
    relex.show(relex.parse("model.mlir")) # look at a program

A program is MLIR text, the path of an `.mlir` file or of a `.py` file in TVMScript, or a module of xDSL. The packages:

    relex.dialects    the IR: dialects, parser, errors
    relex.passes      passes within one level
    relex.lowering    lowering from graphs to object code
    relex.runtime     compile, load and run
    relex.reference   reference semantics: the interpreter, and equivalence checks
    relex.frontend    build programs in Python
    relex.tools       the command-line tools
    relex.examples    example programs
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex import dialects as dialects
    from relex import examples as examples
    from relex import frontend as frontend
    from relex import lowering as lowering
    from relex import passes as passes
    from relex import reference as reference
    from relex import runtime as runtime
    from relex import tools as tools
    from relex.reference import interpret as interpret
    from relex.runtime import build as build
    from relex.runtime import load as load
    from relex.runtime.sources import parse as parse
    from relex.tools import show as show
    from relex.version import __version__ as __version__
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)

if "IPython" in sys.modules or "marimo" in sys.modules:
    from relex.extras import find_part

    find_part("register-notebook")()
