"""The names of cores and parts of the comparison."""

from typing import Literal

Core = Literal["full", "bigbird", "etc", "longformer", "performer"]
Part = Literal["cost"]
CORES: tuple[Core, ...] = ("full", "bigbird", "etc", "longformer", "performer")
COST = "cost"
