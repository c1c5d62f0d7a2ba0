"""A search for arguments that show what a proof found: terms that differ."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np
from xdsl.passes import ModulePass

from relex.dialects.dtypes import is_float_dtype
from relex.reference.equivalence.call_after import CallAfter
from relex.reference.equivalence.differences import FunctionChange
from relex.reference.equivalence.execution import Runner
from relex.reference.equivalence.proving import TermDifference
from relex.reference.equivalence.references import LastRun
from relex.reference.interpreter.budget import steps_taken

MOST_ELEMENTS, MOST_CALLS, MOST_STEPS = 3, 200, 300_000
"""Limits of a search: the elements of arguments that it changes, the calls that it tries, and the steps that these may
take together."""


def find_directed(
    before: LastRun, after: Runner, call: CallAfter, p: ModulePass, terms: TermDifference
) -> FunctionChange | None:
    """Return a difference for arguments that equal a sample's, except for the elements in terms that differ: these
    become the numbers in the terms, their neighbors, and special numbers."""
    names = [spec.name for spec in before.interface.inputs]
    places = [(names.index(name), index) for name, index in terms.elements[:MOST_ELEMENTS]]
    retry = partial(call.mismatch, before, after)
    for sample, arguments, outcome in before.samples() if places else ():
        shapes = [(index, np.shape(arguments[i])) for i, index in places]
        if outcome.error is not None or any(
            i >= n for index, shape in shapes for i, n in zip(index, shape, strict=True)
        ):
            continue
        choices = [_numbers_like(np.asarray(arguments[i]).dtype, terms.numbers) for i, _ in places]
        # No call passes others, and passes may rely on that: products with zeros of padding are zero.
        finite = [before.interface.inputs[i].is_finite for i, _ in places]
        choices = [[x for x in c if np.isfinite(x)] if only else c for c, only in zip(choices, finite, strict=True)]
        begin = steps_taken()
        for values in islice(product(*choices), MOST_CALLS):
            if steps_taken() - begin > MOST_STEPS:
                break
            changed = [np.array(x) for x in arguments]
            for (i, index), value in zip(places, values, strict=True):
                changed[i][index] = value
            changed = [x if x.ndim else x[()] for x in changed]
            if (mismatch := retry(changed)) is not None:
                named = tuple(zip(names, changed, strict=True))
                passes, specs = (*before.unchecked, p), before.interface.inputs
                return FunctionChange(passes, before.name, mismatch, sample, named, specs, retry, is_directed=True)
        return None
    return None


def _numbers_like(dtype: np.dtype[Any], numbers: Sequence[Any]) -> list[Any]:
    """Return some numbers with their neighbors, as far as a type has them, and special numbers of that type."""
    if not is_float_dtype(dtype):
        step = 0 if dtype.kind == "b" else 1
        wide = [int(n) + d for n in numbers if n.dtype.kind in "iub" for d in (0, step, -step)] + [0, 1, -1]
        # Numbers that the type does not have wrap around.
        return list(dict.fromkeys(np.array([n % 2**64 for n in wide], np.uint64).astype(dtype).tolist()))
    with np.errstate(all="ignore"):
        same = [n for n in numbers if n.dtype == dtype and n == n]
        near = [np.nextafter(n, dtype.type(end)) for n in same for end in (np.inf, -np.inf)]
        return [dtype.type(n) for n in (*same, *near, 0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf)]
