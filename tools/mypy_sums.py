"""A plugin of mypy that refuses the builtin `sum` of floats, whose last digits depend on the version of Python.

As `sum` is overloaded, mypy may say of such a call that it expected `Iterable[bool]`: added() of `_util/sums.py`, or
math.fsum, is what to use.
"""

from mypy.maptype import map_instance_to_supertype
from mypy.plugin import FunctionContext, Plugin
from mypy.types import Instance, ProperType, Type, UnionType, get_proper_type

SAID = "The builtin sum of floats depends on the version of Python; use added() of _util/sums.py, or math.fsum"


def is_exact(summed: ProperType) -> bool:
    """Whether values of a type have a sum that depends on no version; a type that is not known passes."""
    if isinstance(summed, UnionType):
        return all(is_exact(get_proper_type(each)) for each in summed.items)
    return not (isinstance(summed, Instance) and summed.type.has_base("builtins.float"))


def refuse_floats(context: FunctionContext) -> Type:
    """Report a sum of floats."""
    given = get_proper_type(context.arg_types[0][0])
    if isinstance(given, Instance):
        iterable = context.api.named_generic_type("typing.Iterable", []).type
        given = get_proper_type(map_instance_to_supertype(given, iterable).args[0])
    if not is_exact(given):
        context.api.fail(SAID, context.context)
    return context.default_return_type


class Sums(Plugin):
    """Looks at each call of `sum`."""

    def get_function_hook(self, fullname):
        return refuse_floats if fullname == "builtins.sum" else None


def plugin(version):
    """What mypy loads."""
    return Sums
