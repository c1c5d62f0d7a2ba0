"""`tvm.relax`: the builder of graphs, passes, and the virtual machine."""

from __future__ import annotations

from relex.frontend import op as op
from relex.frontend.block_builder import BlockBuilder as BlockBuilder
from relex.frontend.expressions import Constant as Constant
from relex.frontend.expressions import DynTensorType as DynTensorType
from relex.frontend.expressions import PendingOp as PendingOp
from relex.frontend.expressions import TensorExpr as TensorExpr
from relex.frontend.expressions import Var as Var
from relex.frontend.expressions import const as const
from relex.frontend.tvm.relax import analysis as analysis
from relex.frontend.tvm.relax import transform as transform
from relex.frontend.tvm.relax import vm as vm
from relex.frontend.tvm.relax.vm import VirtualMachine as VirtualMachine
from relex.frontend.tvm.relax.vm import build as build
from relex.runtime.executable import Executable as Executable
