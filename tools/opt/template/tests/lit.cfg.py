"""Configuration of lit for the .mlir files of this folder: every `// RUN:` line is a shell command that must
succeed."""

import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

import lit.formats  # pyright: ignore[reportMissingTypeStubs]

# lit executes this file with `config` defined.
config = globals()["config"]

tests = Path(__file__).resolve().parent
config.name = "my-rule"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.test_source_root = str(tests)
config.test_exec_root = str(tests.parent / "build" / "lit")

# The tools of the Python that runs lit come before all others of the same name.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

# The output of a pass is printed and read back. A package that is not installed is loaded from its file.
flags = ["--verify-roundtrip"]
if not any(entry.name == "my-rule" for entry in entry_points(group="xdsl.universe")):
    flags.append(f"--load-passes='{tests.parent / 'my_rule' / 'my_rule.py'}'")
config.environment["RELEX_OPT_FLAGS"] = " ".join(flags)
