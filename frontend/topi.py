"""
The operators as tensor expressions, for `BlockBuilder.call_te` and `LegalizeOpsPass`: `topi.nn.dense(x, w)` on tensors
of `relex.lowering.te` is the tensor that the operator computes.

The names and arguments are as in `relex.frontend.op`. The expressions are those that `legalize-ops` makes
loops of, from the table in `relex.lowering.legalizations`.
"""

from __future__ import annotations

import sys

from relex.dialects.relex import OPERATORS
from relex.lowering.legalizations.tensor_expressions import TensorExpression

of = TensorExpression
"""The tensor expression of an operator of another dialect, given its class."""

nn = sys.modules[__name__]
"""This module itself, for the spelling `topi.nn.relu`."""


# Not module globals: they would shadow Python's `sum` and `max`.
def __getattr__(name: str) -> TensorExpression:
    if name not in OPERATORS:
        raise AttributeError(f"no operator '{name}'; there are {', '.join(sorted(OPERATORS))}")
    return TensorExpression(OPERATORS[name])


def __dir__() -> list[str]:
    return sorted([*OPERATORS, "nn", "of"])
