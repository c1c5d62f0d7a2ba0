"""Which LLVM passes a module gets."""

from __future__ import annotations

import pytest

from relex.dialects.code_generator import is_scheduled

LOOP = """
define void @kernel(ptr %x)
{{
.1:
  br label %".2"
.2:
  %i = phi i64 [0, %".1"], [%next, %".3"]
  %more = icmp slt i64 %i, 8
  br i1 %more, label %".3", label %".4"
.3:
  {body}
  %next = add i64 %i, 1
  br label %".2"{annotation}
.4:
  {after}
  ret void
}}

define internal void @"helper"(ptr %x)
{{
.1:
  ret void
}}

declare void @outside(ptr)
"""
ANNOTATED = ", !llvm.loop !1"


@pytest.mark.parametrize(
    ("body", "annotation", "after", "expected"),
    [
        ("", ANNOTATED, "", True),
        ("", "", "", False),
        ('call void @"helper"(ptr %x)', ANNOTATED, "", False),
        ("call void @outside(ptr %x)", ANNOTATED, "", True),
        ("", ANNOTATED, 'call void @"helper"(ptr %x)', True),
    ],
)
def test_modules_with_loops_for_llvm_to_shape(body: str, annotation: str, after: str, expected: bool) -> None:
    assert is_scheduled(LOOP.format(body=body, annotation=annotation, after=after)) is expected
