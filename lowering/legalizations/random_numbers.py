"""Random numbers: their formulas, for the positions in row-major order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, i64

from relex.dialects.relex import RandomBernoulliOp, RandomCategoricalOp
from relex.dialects.relex.random_numbers import RandomOperator, RandomTensor, ui64
from relex.dialects.sizes import Size
from relex.lowering import te
from relex.lowering.legalizations.elementwise import ScalarFunctions
from relex.lowering.legalizations.legalization_table import legalizes, result_shape
from relex.lowering.legalizations.reduce import extreme_place
from relex.lowering.legalizations.shape import flatten


@legalizes(RandomTensor)
def random_tensor(op: RandomTensor, key: te.Tensor, *like: te.Tensor) -> te.Tensor:
    """Legalize to a formula of the position."""
    return _drawn(op, result_shape(op, key, *like), key)


@legalizes(RandomBernoulliOp)
def random_bernoulli(op: RandomBernoulliOp, key: te.Tensor, probability: te.Tensor) -> te.Tensor:
    """Legalize to a comparison with each probability."""
    return _drawn(op, probability.shape, key, probability)


@legalizes(RandomCategoricalOp)
def random_categorical(op: RandomCategoricalOp, key: te.Tensor, logits: te.Tensor) -> te.Tensor:
    """Legalize to the sums of logits and noise, and the position of the largest one."""
    scores = _drawn(op, logits.shape, key, logits)
    return extreme_place(scores, (logits.ndim - 1,), te.max, name="random_categorical")


def _drawn(op: RandomOperator, shape: Sequence[Size], key: te.Tensor, *operands: te.Tensor) -> te.Tensor:
    def element(*i: te.Axis) -> te.PrimExpr:
        words = [key[n] for n in range(op.key_words)]
        position = te.cast(te.cast(te.as_expr(flatten(i), IndexType()), i64), ui64)
        return op.formula(ScalarFunctions(), words, position, *(operand[i] for operand in operands))

    return te.compute(shape, element, name=op.name.rpartition(".")[2])
