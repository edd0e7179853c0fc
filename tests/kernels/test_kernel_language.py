"""What kernels may not say: what takes long to compile, or has other bits interpreted than compiled."""

import ast
from pathlib import Path

import matroid_bandits as mb

ROOT = Path(mb.__file__).parent
DECORATORS = {"kernel", "inlined", "fast", "called"}


def kernels(source):
    """The functions of a file that are compiled."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            names = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
            if any(isinstance(each, ast.Name) and each.id in DECORATORS for each in names):
                yield node


def is_constant(value):
    """Whether an expression is a number, a truth value or the name of one."""
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    return isinstance(value, (ast.Constant, ast.Attribute)) or (isinstance(value, ast.Name) and value.id.isupper())


def has_slice(target):
    return isinstance(target, ast.Subscript) and any(isinstance(each, ast.Slice) for each in ast.walk(target.slice))


def array_assignments(function):
    """Lines that put an array into a slice or a row of another: Numba compiles an error's text with each."""
    subscripts = [node for node in ast.walk(function) if isinstance(node, ast.Subscript)]
    tables = {ast.unparse(each.value) for each in subscripts if isinstance(each.slice, ast.Tuple)}

    def is_row(value):
        is_one = isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Tuple)
        return is_one and ast.unparse(value.value) in tables

    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                into = target.elts if isinstance(target, ast.Tuple) else [target]
                is_array = (has_slice(node.value) or is_row(node.value)) and isinstance(target, ast.Subscript)
                if is_array or (any(map(has_slice, into)) and not is_constant(node.value)):
                    yield node.lineno


#: Functions of `math` with the same bits interpreted and compiled, and constants.
SAME = {"sqrt", "log", "log1p", "exp", "expm1", "floor", "ceil", "ldexp", "frexp", "isnan", "inf", "nan", "pi"}
#: Functions of NumPy that are computed otherwise interpreted than compiled.
OTHER = {"log", "log1p", "log2", "log10", "exp", "expm1", "exp2", "power", "sin", "cos", "tan", "tanh", "cbrt"}
OTHER |= {"sum", "mean", "dot", "var", "std", "cumsum", "prod"}


def other_bits(function):
    """Lines whose bits depend on the tier: powers that are not constant, and most functions of numbers."""
    for node in ast.walk(function):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, (ast.Pow, ast.MatMult)):
            if isinstance(node, ast.AugAssign) or not (is_constant(node.left) and is_constant(node.right)):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = {"math": node.attr not in SAME, "np": node.attr in OTHER}
            if names.get(node.value.id, False):
                yield node.lineno


def found(rule):
    """Places in kernels that a rule names."""
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("kernels", "compiled")
        for path in sorted((ROOT / folder).glob("*.py"))
        for function in kernels(path.read_text(encoding="utf-8"))
        for line in rule(function)
    ]


def test_arrays_are_copied_by_loops():
    assert found(array_assignments) == []


def test_bits_do_not_depend_on_who_computes_them():
    assert found(other_bits) == []


def test_the_rules_find_what_they_are_for():
    def lines(rule, *statements):
        (function,) = kernels("@kernel\ndef f(a, b, n):\n" + "".join(f"    {each}\n" for each in statements))
        return sorted(line - 2 for line in rule(function))

    assert lines(array_assignments, "a[:] = b", "a[:n] = b[:n]", "a[n] = b[:n]", "a[1, n:] = b * 2") == [1, 2, 3, 4]
    assert lines(array_assignments, "a[n] = b[n]", "a[n] = b[0, n]", "a[n, 1] = b[n]") == [1, 3]
    assert lines(array_assignments, "a[:] = 0", "a[n:] = -1.0", "a[:] = FAR", "a[:] = np.nan", "x = a[:n]") == []
    assert lines(other_bits, "a = np.log(b)", "a = b**2", "a = math.lgamma(b)", "a **= 2", "a = a @ b") == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert lines(other_bits, "a = math.log(b)", "a = 2.0**60", "a = np.sqrt(b * b)", "a = np.empty(n)") == []
    assert list(kernels("def f(a, b):\n    a[:] = b\n")) == []
