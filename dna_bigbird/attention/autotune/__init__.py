"""Which backend 'auto' is on a GPU: measured there, once for each kind of problem, and kept."""

from dna_bigbird.attention.autotune.choice import Choice, choose, kept
from dna_bigbird.attention.autotune.measuring import Row, measure
from dna_bigbird.attention.autotune.shape_class import Device, ShapeClass

__all__ = ["Choice", "Device", "Row", "ShapeClass", "choose", "kept", "measure"]
