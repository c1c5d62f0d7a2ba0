"""The core level down to the machine: conversion to the LLVM dialect, LLVM IR, object code."""
