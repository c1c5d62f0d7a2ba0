"""What `check-tir` proves things with: integer linear constraints, and the program as such constraints."""
