"""
TVM's names for what relex has: programs written for TVM run with another import.

    from relex.frontend.tvm import tvm, relax, I, R, T

The names are the same as in TVM's modules: `import relex.frontend.tvm as tvm` is the same, and
`from tvm.script import tir as T` becomes `from relex.frontend.tvm.script import tir as T`. `docs/from-tvm.md` lists all
of them, beside relex's own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from relex.frontend.ir_module import IRModule as IRModule
from relex.frontend.script import I as I
from relex.frontend.script import R as R
from relex.frontend.script import T as T
from relex.frontend.tvm import ir as ir
from relex.frontend.tvm import nd as nd
from relex.frontend.tvm import relax as relax
from relex.frontend.tvm import runtime as runtime
from relex.frontend.tvm import script as script
from relex.frontend.tvm import te as te
from relex.frontend.tvm import topi as topi
from relex.frontend.tvm import transform as transform
from relex.frontend.tvm.devices import Device as Device
from relex.frontend.tvm.devices import cpu as cpu
from relex.frontend.tvm.elsewhere import answers
from relex.frontend.tvm.register_func import get_global_func as get_global_func
from relex.frontend.tvm.register_func import register_func as register_func
from relex.frontend.tvm.register_func import register_global_func as register_global_func

compile = relax.build
device = Device

if TYPE_CHECKING:
    from relex.frontend import tvm as tvm
else:
    # This module itself, so that one import brings all names.
    tvm = sys.modules[__name__]
    __getattr__ = answers("tvm")
