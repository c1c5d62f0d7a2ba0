"""`tvm.ir`: modules, and passes one after another."""

from relex.frontend.ir_module import IRModule as IRModule
from relex.frontend.tvm import transform as transform
