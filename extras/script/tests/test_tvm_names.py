"""Names of TVM that relex lacks are answered by what does the same."""

import pytest

from relex.frontend.tvm import relax, tvm
from relex.frontend.tvm.elsewhere import ELSEWHERE, PAGE


@pytest.mark.parametrize("name", ELSEWHERE)
def test_names_that_are_elsewhere(name: str):
    for module in (tvm, relax):
        with pytest.raises(AttributeError, match=f"has no {name} in relex: ") as found:
            getattr(module, name)
        assert str(found.value).endswith(ELSEWHERE[name])


def test_other_names_are_answered_by_the_page():
    with pytest.raises(AttributeError, match=f"tvm.relax has no magic in relex: {PAGE}"):
        getattr(relax, "magic")  # noqa: B009
    assert not hasattr(tvm, "magic")
