"""Failures that functions return, as `return-failures` lets them."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from relex.dialects.errors import PassError, fail_assertion, fail_sizes
from relex.dialects.exceptions import AssertionRecord
from relex.dialects.function_arguments import SIGNATURE_ATTR
from relex.lowering.support.signatures import stated_signature
from relex.reference.interpreter.program import Values


def failures_of(function: Operation) -> tuple[AssertionRecord, ...]:
    """Return the failures that a function returns, as it states. A signature that cannot be read has none."""
    try:
        signature = stated_signature(function, "") if SIGNATURE_ATTR in function.attributes else None
    except PassError:
        return ()
    return () if signature is None else signature.failures


def results_of(function: Operation, returned: Values) -> Values:
    """Return the results among what a function has returned. Raises the error of a failure."""
    failures = failures_of(function)
    if not failures:
        return returned
    *results, number, index = returned
    expect_success(function, failures, number, index)
    return tuple(results)


def expect_success(function: Operation, failures: tuple[AssertionRecord, ...], number: Any, index: Any) -> None:
    """Raise the error of a failure unless its number is 0."""
    if number:
        failure = failures[int(number) - 1]
        if failure.is_of_sizes:
            fail_sizes(function, failure.message, int(index))
        fail_assertion(function, failure.message, int(index) if failure.names_index else None)
