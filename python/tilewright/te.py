# SPDX-License-Identifier: Apache-2.0
"""Tensor expressions: what a tensor holds, element by element, and never how it is computed.

    m, n = te.symbol("m"), te.symbol("n")
    A = te.placeholder("A", "f32", (m, 64))
    B = te.placeholder("B", "f32", (64, n))
    k = te.reduce_axis(64, "k")
    C = te.compute("C", (m, n), lambda y, x: te.sum(A[y, k] * B[k, x], k))
    program = te.program("matmul", [A, B], C)

Types never convert by themselves, but a number takes the type of the other operand: `A[i] * 2`. `/` is for floats, `//`
and `%` for integers (they round down); `&`, `|` and `~` combine conditions. Operators and functions of whole tensors
(`te.exp(x - te.max_over(x, 1))`) broadcast as in NumPy. src/te/README.md tells more; te.pyi has the types.
"""
import functools

from . import _native
from ._arrays import elem_name
from ._errors import Error, wrong_kind
from ._native.te import Axis, Expr, Program, Reducer, Symbol, Tensor, Var
from ._step_text import parameter_names


def _checked(name):
    """A native function; for arguments of kinds that it does not take, an Error."""
    native = getattr(_native.te, name)

    @functools.wraps(native)
    def call(*arguments):
        try:
            return native(*arguments)
        except TypeError as e:
            if isinstance(e, Error) or not str(e).startswith(f"{name}(): incompatible function arguments"):
                raise
            given = ", ".join(f"{type(a).__name__} {a!r}" for a in arguments)
            raise wrong_kind("python.te.argument", f"te.{name} was given {given or 'nothing'}",
                             "te.pyi has the types; numbers count as expressions, and tensors go with tensors or numbers") from None
    return call


(acos, acosh, all, any, argmax, argmin, asin, asinh, atan, atan2, atanh, ceil, clz, copysign, cos, cosh, erf, exp, exp2, expm1, floor, fma, fmod,
 guard, isinf, isnan, log, log1p, log2, max, max_over, min, min_over, parse, popcount, pow, prod, rational, reduce, round, rsqrt, select, sin,
 sinh, sqrt, sum, tan, tanh, trunc) = (_checked(name) for name in (
     "acos acosh all any argmax argmin asin asinh atan atan2 atanh ceil clz copysign cos cosh erf exp exp2 expm1 floor fma fmod "
     "guard isinf isnan log log1p log2 max max_over min min_over parse popcount pow prod rational reduce round rsqrt select sin "
     "sinh sqrt sum tan tanh trunc").split())


def _list(what, items):
    if isinstance(items, str) or not hasattr(items, "__iter__"):
        raise wrong_kind("python.te.argument", f"{what} is {items!r}, a {type(items).__name__}", "give a list or a tuple")
    return list(items)


def symbol(name, min=1, max=1 << 40, divisor=1):
    """A size that is known only when the program runs: min <= size <= max, a multiple of divisor."""
    return _checked("symbol")(name, min, max, divisor)


def placeholder(name, dtype, shape):
    """An input. `dtype` is a name such as "f32" or "float32", or a type of NumPy."""
    return _checked("placeholder")(name, elem_name(dtype), tuple(_list(f"the shape of {name!r}", shape)))


def reduce_axis(extent, name="k"):
    """What a reduction runs over: 0 … extent - 1."""
    return _checked("reduce_axis")(extent, name)


def compute(name, shape, f):
    """The tensor whose element at (i, j, …) is f(i, j, …); one for each value when f gives a tuple.

    Its axes, and the loops that come of them, are called by the names of f's parameters.
    """
    if not callable(f):
        raise wrong_kind("python.te.argument", f"the function of {name!r} is {f!r}, a {type(f).__name__}", "give a function of the indices: lambda i, j: …")
    return _checked("compute")(name, tuple(_list(f"the shape of {name!r}", shape)), parameter_names(f), f)


def scan(name, steps, init, step):
    """A recurrence: step(t, prev) makes the state at time t of that at t - 1 (`init` at 0); gives it at every time.

    With a tuple of states, `prev` is a list of them, and the step gives a tuple: the new states, then any further tensors
    that are wanted over time.
    """
    return _checked("scan")(name, steps, init, step)


def reducer(name, dtypes, combine, identity):
    """A way to combine values, or tuples of them, that is commutative and associative; you vouch for it.

        longest = te.reducer("longest", ("i64", "f32"), lambda x, y: (…, …), (0, -math.inf))
        at, value = te.reduce(longest, (k, A[i, k]), k)
    """
    return _checked("reducer")(name, _elems(dtypes), combine, identity)


def with_rescale(reducer, dtypes, rescale):
    """The reducer with a law for `fuse_reductions`: rescale(partial, from, to) is what becomes of a partial result when an
    earlier reduction, of these types, that its values depend on moves on."""
    return _checked("with_rescale")(reducer, _elems(dtypes), rescale)


def cast(dtype, value):
    """A value, or every element of a tensor, in another type."""
    return _checked("cast")(elem_name(dtype), value)


def reinterpret(dtype, value):
    """The same bits as another type of the same width."""
    return _checked("reinterpret")(elem_name(dtype), value)


def program(name, inputs, outputs, symbols=()):
    """What to compute. `symbols` are those that no input's shape mentions."""
    return _checked("program")(name, _list("`inputs`", inputs), outputs, _list("`symbols`", symbols))


def _elems(dtypes):
    return [elem_name(d) for d in (dtypes if isinstance(dtypes, (tuple, list)) else [dtypes])]
