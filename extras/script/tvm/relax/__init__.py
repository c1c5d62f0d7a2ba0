"""`tvm.relax`: the builder of graphs, passes, and the virtual machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.frontend import op as op
from relex.frontend.block_builder import BlockBuilder as BlockBuilder
from relex.frontend.graph_expressions import Call as Call
from relex.frontend.graph_expressions import Constant as Constant
from relex.frontend.graph_expressions import DynTensorType as DynTensorType
from relex.frontend.graph_expressions import Expr as Expr
from relex.frontend.graph_expressions import Var as Var
from relex.frontend.graph_expressions import const as const
from relex.frontend.tvm.elsewhere import answers
from relex.frontend.tvm.relax import analysis as analysis
from relex.frontend.tvm.relax import transform as transform
from relex.frontend.tvm.relax import vm as vm
from relex.frontend.tvm.relax.vm import VirtualMachine as VirtualMachine
from relex.frontend.tvm.relax.vm import build as build
from relex.runtime.executable import Executable as Executable

if not TYPE_CHECKING:
    __getattr__ = answers("tvm.relax")
