"""TVMScript, TVM's Python syntax for modules: a parser, a printer, and decorators for live Python programs."""

from relex.frontend.script.live import I as I
from relex.frontend.script.live import R as R
from relex.frontend.script.live import T as T
from relex.frontend.script.live import Tensor as Tensor
from relex.frontend.script.modules import parse_script as parse_script
from relex.frontend.script.printer import print_script as print_script
