"""The core level to machine code: conversion to the LLVM dialect, LLVM IR, object code."""
