"""What relex offers to the tools of xDSL."""

import sys

import pytest
from xdsl.dialects import get_all_dialects
from xdsl.targets import get_all_targets
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from relex.tools import universe
from relex.tools.universe import RELEX_UNIVERSE, make_universe


def test_xdsl_finds_it():
    everything = Universe.get_multiverse()
    assert RELEX_UNIVERSE.all_dialects.items() <= everything.all_dialects.items()
    assert RELEX_UNIVERSE.all_passes.items() <= everything.all_passes.items()
    assert RELEX_UNIVERSE.all_targets.items() <= everything.all_targets.items()


def test_no_name_is_taken_twice():
    assert not RELEX_UNIVERSE.all_dialects.keys() & get_all_dialects().keys()
    assert not RELEX_UNIVERSE.all_passes.keys() & get_all_passes().keys()
    assert not RELEX_UNIVERSE.all_targets.keys() & get_all_targets().keys()


@pytest.mark.parametrize("name", RELEX_UNIVERSE.all_dialects)
def test_every_dialect_has_its_name(name: str):
    assert RELEX_UNIVERSE.all_dialects[name]().name == name


@pytest.mark.parametrize("name", RELEX_UNIVERSE.all_passes)
def test_every_pass_has_its_name_and_says_what_it_does(name: str):
    cls = RELEX_UNIVERSE.all_passes[name]()
    assert cls.name == name
    assert cls.__doc__
    assert not cls.__doc__.startswith(cls.__name__), "expected a docstring, found the signature of the dataclass"


@pytest.mark.parametrize("name", universe.get_all_targets())
def test_every_target_has_its_name(name: str):
    assert universe.get_all_targets()[name]().name == name


def test_a_name_that_xdsl_comes_to_own_is_left_to_it(monkeypatch: pytest.MonkeyPatch):
    assert "set-target" in make_universe().all_passes
    monkeypatch.setattr(universe, "get_xdsl_passes", lambda: {"set-target": None})
    assert "set-target" not in make_universe().all_passes


def test_a_broken_relex_does_not_stop_other_tools(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "relex.passes", None)
    with pytest.warns(UserWarning, match="relex cannot be used: ModuleNotFoundError"):
        assert make_universe().all_passes == {}
