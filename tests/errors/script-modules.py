# Files that are no module in TVMScript.
# ARGS:

@T.prim_func
# expected-error@+1:35 {{expected Python, found invalid syntax}}
def f(X: T.Buffer((8,), "float32"):
    pass

# -----

# expected-error@+1:1 {{expected a class decorated with @I.ir_module, or functions decorated with @T.prim_func or @R.function, found none}}
def f(x):
    return x

# -----

@I.ir_module
class A:
    pass

@I.ir_module
# expected-error@+1:1 {{expected one module in a file, found 'A' and 'B'; 'script-modules.py:A' is one of them}}
class B:
    pass

# -----

@I.ir_module
class Module:
# expected-error@+1:5 {{expected functions decorated with @T.prim_func or @R.function in a module}}
    x = 1

# -----

@I.ir_module
class Module:
# expected-error@+1:5 {{expected @T.prim_func or @R.function before 'f'}}
    def f(x):
        return x

# -----

# expected-error@+1:14 {{expected private, pure, s_tir, tirx, check_well_formed, found 'host'}}
@T.prim_func(host=True)
def f(Y: T.Buffer((1,), "float32")):
    Y[0] = 0.0

# -----

@I.ir_module
class Module:
    @T.prim_func
    def f(Y: T.Buffer((1,), "float32")):
        Y[0] = 0.0

    @T.prim_func
# expected-error@+1:5 {{expected a function 'f' once in a module}}
    def f(Y: T.Buffer((1,), "float32")):
        Y[0] = 1.0

# -----

@T.prim_func
# expected-error@+1:8 {{expected plain parameters, each a name and a type}}
def f(*Y: T.Buffer((1,), "float32")):
    pass

# -----

# expected-error@+1:2 {{expected Python, found unexpected indent}}
  @T.prim_func
def f(Y: T.Buffer((1,), "float32")):
    pass
