"""How lit runs the files of this folder: every `// RUN:` line is a shell command that must succeed."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import lit.formats  # pyright: ignore[reportMissingTypeStubs]

# lit executes this file with `config` and `lit_config` defined.
config = globals()["config"]
lit_config = globals()["lit_config"]

root = Path(__file__).resolve().parents[2]

config.name = "relex"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = str(root / "tests" / "lit")
config.test_exec_root = str(root / "build" / "lit")

# The tools of the Python that runs lit come before all others of the same name.
folders = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]

# On Linux a server that has them loaded runs them; its clients come first.
if sys.platform == "linux":
    TOOLS = ("relex-opt", "relex-run", "filecheck", "xdsl-opt")
    server = root / "tests" / "lit" / "tool_server"
    run = Path(tempfile.mkdtemp(prefix="relex-lit-"))
    atexit.register(shutil.rmtree, run, ignore_errors=True)
    for tool in TOOLS:
        (run / tool).symlink_to(server / "client.py")
    process = subprocess.Popen([sys.executable, server / "server.py", run / "socket", *TOOLS], stdin=subprocess.DEVNULL)
    while not (run / "socket").exists():
        if process.poll() is not None:
            lit_config.fatal("the server of the tools ended; what it printed says why")
        time.sleep(0.05)
    folders.insert(0, str(run))

config.environment["PATH"] = os.pathsep.join(folders)

# Whatever a test does, the program prints and reads back after every pass.
config.environment["RELEX_OPT_FLAGS"] = "--verify-roundtrip"
config.environment["RELEX_VERIFY"] = "1"

# Nothing that was compiled before is found.
caches = tempfile.mkdtemp(prefix="relex-cache-")
atexit.register(shutil.rmtree, caches, ignore_errors=True)
config.environment["XDG_CACHE_HOME"] = caches

if all(shutil.which(tool) for tool in ("mlir-opt-22", "mlir-translate-22")):
    config.available_features.add("mlir-opt")

if find_spec("tvm"):
    config.available_features.add("tvm")

# Printed text parses back and prints the same; its form is checked by the CHECK lines of the file.
config.substitutions.append(
    (
        "RELEX_ROUNDTRIP",
        "relex-opt %s --split-input-file -o %t.1.mlir && relex-opt %t.1.mlir --split-input-file -o %t.2.mlir"
        " && diff %t.1.mlir %t.2.mlir && filecheck %s --input-file %t.2.mlir",
    )
)
# The generic form parses back to the same program.
config.substitutions.append(
    (
        "RELEX_GENERIC_ROUNDTRIP",
        "relex-opt %s --split-input-file --print-op-generic -o %t.generic.mlir"
        " && relex-opt %t.generic.mlir --split-input-file | filecheck %s",
    )
)

# A pattern that never ends must not hang the run; a machine that is busy with other things may take its time. lit needs
# psutil for this.
if lit_config.maxIndividualTestTimeIsSupported[0] and not lit_config.maxIndividualTestTime:
    config.maxIndividualTestTime = 600
