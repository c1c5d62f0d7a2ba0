"""Runs a program for WASI with the streams of this process: `python run_wasm.py program.wasm`."""

import sys
from importlib import import_module
from typing import Any

# Not installed with the other packages that tests need.
wasmtime: Any = import_module("wasmtime")

engine = wasmtime.Engine()
wasi = wasmtime.WasiConfig()
wasi.inherit_stdin()
wasi.inherit_stdout()
wasi.inherit_stderr()
store = wasmtime.Store(engine)
store.set_wasi(wasi)
linker = wasmtime.Linker(engine)
linker.define_wasi()
program = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
program.exports(store)["_start"](store)
