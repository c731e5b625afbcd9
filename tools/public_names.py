"""The public Python names with their signatures."""

import dataclasses
import importlib
import inspect
import pkgutil

import dna_bigbird
from tools.texts import cleaned


def public_names() -> dict[str, object]:
    """Return the names of every package that lists some, with signatures and what classes have."""
    entries: dict[str, object] = {}
    packages = [
        "dna_bigbird",
        *(m.name for m in pkgutil.walk_packages(dna_bigbird.__path__, "dna_bigbird.") if m.ispkg),
    ]
    for name in packages:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            if public != "__version__":
                entries[f"{name}.{public}"] = _described(getattr(module, public))
    return entries


def _described(value: object) -> object:
    if inspect.isclass(value):
        return {
            "class": _signature(value),
            "fields": [f.name for f in dataclasses.fields(value)]
            if dataclasses.is_dataclass(value)
            else [],
            "members": {
                key: _described(member)
                for key, member in inspect.getmembers(value)
                if not key.startswith("_") and inspect.isroutine(member)
            },
        }
    if callable(value):
        return _signature(value)
    if inspect.ismodule(value):
        return f"module {value.__name__}"
    return cleaned(repr(value))


def _signature(value: object) -> str:
    try:
        return cleaned(str(inspect.signature(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "no signature"
