from llvmlite.ir import Block as Block
from llvmlite.ir import Value as Value
