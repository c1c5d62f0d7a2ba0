"""`tvm.script`: the decorators and vocabularies of TVMScript."""

from relex.frontend.script.live import I as ir
from relex.frontend.script.live import R as relax
from relex.frontend.script.live import T as tir
from relex.frontend.script.modules import parse_script as from_source

ir_module = ir.ir_module
tirx = tir

__all__ = ["from_source", "ir", "ir_module", "relax", "tir", "tirx"]
