"""Which backend 'auto' is on a GPU: measured there, once for each kind of problem, and kept."""

from dna_bigbird.attention.autotune.choice import (
    Choice,
    Device,
    Row,
    ShapeClass,
    choose,
    kept,
    measure,
)

__all__ = ["Choice", "Device", "Row", "ShapeClass", "choose", "kept", "measure"]
