"""Random graphs of all operators, for hypothesis."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from relex.reference.fuzzing.graph_functions import random_graph


def graphs() -> st.SearchStrategy[ModuleOp]:
    """Modules with a function @main, of static sizes: those that `fuzz_pass` makes."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_graph(Random(seed)))
