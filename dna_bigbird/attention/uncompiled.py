"""Code that torch.compile steps over."""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

P, R = ParamSpec("P"), TypeVar("R")


def uncompiled(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function as it is written, within a compiled model too.

    For what is no tensor computation: numbers read from a tensor, tables from a cache, a choice of
    kernels. `torch.compiler.disable` does the same, but imports the compiler at once, which takes
    a second; here only a program that compiles something pays for it.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        disabled = getattr(function, "disabled", None)
        if disabled is None:
            if "torch._dynamo" not in sys.modules:
                return function(*args, **kwargs)
            disabled = function.disabled = torch.compiler.disable(function)
        return disabled(*args, **kwargs)

    # The compiler keeps notes by code: each function needs its own.
    call.__code__ = call.__code__.replace(co_name=f"uncompiled_{function.__name__}")
    return call
