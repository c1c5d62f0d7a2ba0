"""Random numbers: their formulas, for the positions in row-major order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, i64

from relex.dialects.relex import RandomBernoulliOp, RandomCategoricalOp
from relex.dialects.relex.random_numbers import RandomOperator, RandomTensor, ui64
from relex.dialects.sizes import Size
from relex.lowering.legalizations.elementwise import ScalarFunctions
from relex.lowering.legalizations.legalization_table import legalizes, result_shape
from relex.lowering.legalizations.reduce import extreme_place
from relex.lowering.legalizations.shape import flatten
from relex.lowering.te import Axis, PrimExpr, Tensor, as_expr, cast, compute, max


@legalizes(RandomTensor)
def random_tensor(op: RandomTensor, key: Tensor, *like: Tensor) -> Tensor:
    """Legalize to a formula of the position."""
    return _drawn(op, result_shape(op, key, *like), key)


@legalizes(RandomBernoulliOp)
def random_bernoulli(op: RandomBernoulliOp, key: Tensor, probability: Tensor) -> Tensor:
    """Legalize to a comparison with each probability."""
    return _drawn(op, probability.shape, key, probability)


@legalizes(RandomCategoricalOp)
def random_categorical(op: RandomCategoricalOp, key: Tensor, logits: Tensor) -> Tensor:
    """Legalize to the sums of logits and noise, and the position of the largest one."""
    scores = _drawn(op, logits.shape, key, logits)
    return extreme_place(scores, (logits.ndim - 1,), max, name="random_categorical")


def _drawn(op: RandomOperator, shape: Sequence[Size], key: Tensor, *operands: Tensor) -> Tensor:
    def element(*i: Axis) -> PrimExpr:
        words = [key[n] for n in range(op.key_words)]
        position = cast(cast(as_expr(flatten(i), IndexType()), i64), ui64)
        return op.formula(ScalarFunctions(), words, position, *(operand[i] for operand in operands))

    return compute(shape, element, name=op.name.rpartition(".")[2])
