"""Export of compiled programs to C and C++."""
