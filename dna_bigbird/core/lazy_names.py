"""Names of a package that are imported when they are used: torch takes seconds (PEP 562)."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def load(reference: str) -> Any:
    """Return what 'module:name' refers to: also how a room reaches one to its right."""
    module, name = reference.split(":")
    return getattr(importlib.import_module(module), name)


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    A name is one of its module; `module:` is the module itself, `module:name` one of another name there.

    Example:
        >>> names, get, list_names = lazy_names("package", {"sqrt": "math"})
        >>> get("sqrt")(9.0)
        3.0
    """
    # No module of the package may have the name of a function in it: its import would hide the function.

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        path, colon, own = modules[name].partition(":")
        module = importlib.import_module(path)
        return module if colon and not own else getattr(module, own or name)

    names = list(modules)
    return names, get, lambda: sorted(names)
