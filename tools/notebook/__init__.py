"""What Jupyter and marimo show of modules, functions, executables, profiles and schedules, as HTML."""
