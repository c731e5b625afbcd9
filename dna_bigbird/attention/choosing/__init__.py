"""Which backend 'auto' is on a GPU: measured there, once for each kind of problem, and kept."""

from dna_bigbird.attention.choosing.choice import Choice, choose, kept
from dna_bigbird.attention.choosing.device import Device
from dna_bigbird.attention.choosing.measuring import Row, measure
from dna_bigbird.attention.choosing.shape_class import ShapeClass

__all__ = ["Choice", "Device", "Row", "ShapeClass", "choose", "kept", "measure"]
