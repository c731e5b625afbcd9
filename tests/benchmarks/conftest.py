"""The scripts of benchmarks/ by their short names."""

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture
def script() -> Callable[[str], ModuleType]:
    """Import a module of benchmarks/lib or benchmarks/speed by its name."""

    def module(name: str) -> ModuleType:
        folder = "lib" if importlib.util.find_spec(f"benchmarks.lib.{name}") else "speed"
        return importlib.import_module(f"benchmarks.{folder}.{name}")

    return module
