"""Types of the public names, for type checkers: `__init__.py` imports a name when it is used."""

from dna_bigbird.bundles.bundle import load_bundle as load_bundle
from dna_bigbird.inference.attributing import attribute as attribute
from dna_bigbird.inference.embedding import embed as embed
from dna_bigbird.inference.mutating import mutagenesis as mutagenesis
from dna_bigbird.inference.predicting import predict as predict
from dna_bigbird.inference.variants.scoring import score_variants as score_variants
