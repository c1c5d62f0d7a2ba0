"""What relex offers to the tools of xDSL."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from xdsl.dialects import get_all_dialects
from xdsl.targets import get_all_targets
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe
from xdsl.xdsl_opt_main import xDSLOptMain

from relex.dialects.errors import CompileError, RelexError, UnknownNameError
from relex.dialects.readers import known_suffixes
from relex.dialects.upstream.versions import IS_0_74, xdsl_frontends
from relex.tools import universe
from relex.tools.universe import RELEX_UNIVERSE, get_all_frontends, make_universe

SCRIPTS = Path(__file__).parents[3] / "extras" / "script" / "tests" / "script"
FRONTENDS = pytest.mark.skipif(IS_0_74, reason="xDSL 0.74 has no frontends")


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


def test_which_xdsl_it_is():
    assert IS_0_74 == version("xdsl").startswith("0.74.")


@FRONTENDS
def test_every_reader_is_a_frontend():
    frontends = get_all_frontends()
    assert list(frontends) == known_suffixes()
    assert [vars(factory())["name"] for factory in frontends.values()] == known_suffixes()
    assert vars(RELEX_UNIVERSE)["all_frontends"].keys() == frontends.keys() - xdsl_frontends().keys()


def opt(*args: str | Path) -> None:
    xDSLOptMain(args=list(map(str, args))).run()


@FRONTENDS
def test_xdsl_opt_reads_scripts(capsys: pytest.CaptureFixture[str]):
    opt(SCRIPTS / "multiply_add.py", "-p", "fuse-ewise-fma")
    read = capsys.readouterr().out
    assert "relex.ewise_fma" in read
    opt(SCRIPTS / "multiply_add.py", "-f", "py{module=MyModule}", "-p", "fuse-ewise-fma")
    assert capsys.readouterr().out == read
    with pytest.raises(UnknownNameError, match="no module 'Other'; there are MyModule"):
        opt(SCRIPTS / "multiply_add.py", "-f", "py{module=Other}")


@FRONTENDS
def test_xdsl_opt_says_where_a_script_is_wrong(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\ndef f(:\n")
    with pytest.raises(CompileError, match=r"a\.py:2:7: error"):
        opt(tmp_path / "a.py")
    (tmp_path / "b.py").write_bytes(b"# \xff")
    with pytest.raises(RelexError, match=r"cannot read '.*b\.py': expected UTF-8 text, found byte 0xff"):
        opt(tmp_path / "b.py")


@FRONTENDS
def test_xdsl_opt_reads_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    floats = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", floats[:1], floats[1:])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "model.onnx")
    opt(tmp_path / "model.onnx")
    assert "relex.relu %x" in (read := capsys.readouterr().out)
    opt(tmp_path / "model.onnx", "-f", "onnx")
    assert capsys.readouterr().out == read
    with pytest.raises(RelexError, match=r"without module=M: \*\.onnx files hold one module"):
        opt(tmp_path / "model.onnx", "-f", "onnx{module=M}")
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(CompileError, match="expected an ONNX model of 8 bytes"):
        opt(tmp_path / "model.onnx")
