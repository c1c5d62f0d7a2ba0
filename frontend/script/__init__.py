"""TVMScript, the Python syntax of TVM for modules: read and printed."""

from relex.frontend.script.modules import parse_script as parse_script
