"""The checks behind `check-tir`: bounds, races and initialization, proved by integer linear constraints."""
