"""TVMScript, the Python syntax of TVM for modules: read and printed."""

from relex.frontend.script.modules import parse_script as parse_script
from relex.frontend.script.printer import print_script as print_script
