"""HTML representations of modules, functions, executables, profiles and schedules, for Jupyter and marimo."""
