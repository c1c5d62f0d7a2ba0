"""Ctrl-C while compiled code runs that calls Python next."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from programs import Array

from relex.dialects.target.code_generators import code_generator
from relex.runtime import CFunction, build, register_func, remove_func
from relex.runtime.linking import link

PRESS = """
declare i32 @raise(i32)

define void @press(ptr %count, ptr %out) {
  %at = getelementptr ptr, ptr %out, i64 1
  %data = load ptr, ptr %at
  store i64 1, ptr %data
  %status = call i32 @raise(i32 2)
  ret void
}
"""
X = np.array([3, 0, 5], np.float32)


@pytest.fixture(autouse=True)
def pressing() -> Iterator[None]:
    """Register a function of machine code that presses Ctrl-C: Python's handler waits for the next Python function."""
    machine = code_generator(llvm.get_process_triple()).create_target_machine(reloc="pic", codemodel="default")
    code = link((machine.emit_object(llvm.parse_assembly(PRESS)),), {}, ("press",))
    register_func("test.press", CFunction(code.address("press"), code))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    remove_func("test.press")


def pressed(body: str, results: str) -> Any:
    return build(f"""
      func.func @main(%x: tensor<?xf32>, %n: tensor<i64>) -> ({results}) {{
        %0 = relex.call_dps_packed "test.press"(%n) {{side_effects}} : (tensor<i64>) -> tensor<i64>
        {body}
      }}
    """)["main"]


def expect_interrupt(main: Any, *arguments: Any) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            main(X, *arguments)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def no_lost_errors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail if Python only prints an exception."""
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    yield
    assert not lost


@pytest.mark.usefixtures("no_lost_errors")
def test_before_the_memory_of_a_result() -> None:
    main = pressed(
        """%y = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
        func.return %y, %0 : tensor<?x1xi64>, tensor<i64>""",
        "tensor<?x1xi64>, tensor<i64>",
    )
    expect_interrupt(main, np.array(1))


@pytest.mark.usefixtures("no_lost_errors")
def test_before_the_question_for_memory() -> None:
    main = pressed(
        """%one = relex.constant dense<1> : tensor<i64>
        %y = relex.arange %0, %n, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
        %z = relex.cumsum %y : (tensor<?xi64>) -> tensor<?xi64>
        %s = relex.sum %z : (tensor<?xi64>) -> tensor<i64>
        func.return %s : tensor<i64>""",
        "tensor<i64>",
    )
    expect_interrupt(main, np.array(3_000_000))


@pytest.mark.usefixtures("no_lost_errors")
def test_before_a_library_function() -> None:
    calls: list[int] = []

    def double(x: Array, out: Array) -> None:
        calls.append(x.size)
        np.add(x, x, out=out)

    register_func("test.double", double)
    try:
        main = pressed(
            """%y = relex.call_dps_packed "test.double"(%0) : (tensor<i64>) -> tensor<i64>
            func.return %y : tensor<i64>""",
            "tensor<i64>",
        )
        expect_interrupt(main, np.array(1))
    finally:
        remove_func("test.double")
    assert not calls


def test_in_a_library_function() -> None:
    """It ends there, and so does one that a function in it waits for."""

    def waits(x: Array, out: Array) -> None:
        signal.raise_signal(signal.SIGINT)
        threading.Event().wait(60)

    register_func("test.waits", waits)
    try:
        main = build("""
          func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
            %y = relex.call_dps_packed "test.waits"(%x) : (tensor<3xf32>) -> tensor<3xf32>
            func.return %y : tensor<3xf32>
          }
        """)["main"]
        expect_interrupt(main)
    finally:
        remove_func("test.waits")
