"""Types of the public names, for type checkers: `__init__.py` imports a name when it is used."""

from dna_bigbird.bundles.bundle import load_bundle as load_bundle
from dna_bigbird.inference.attributing import attribute as attribute
from dna_bigbird.inference.embedding import embed as embed
from dna_bigbird.inference.mutating import mutagenesis as mutagenesis
from dna_bigbird.inference.predicting import predict as predict
from dna_bigbird.inference.variants.scoring import score_variants as score_variants
from dna_bigbird.pipeline import text as text
from dna_bigbird.pipeline.baseline import baseline as baseline
from dna_bigbird.pipeline.chromatin_set import chromatin_set as chromatin_set
from dna_bigbird.pipeline.demo_data import demo_data as demo_data
from dna_bigbird.pipeline.evaluate import evaluate as evaluate
from dna_bigbird.pipeline.finetune import finetune as finetune
from dna_bigbird.pipeline.loaded_model import load as load
from dna_bigbird.pipeline.pretrain import pretrain as pretrain
from dna_bigbird.pipeline.promoter_set import promoter_set as promoter_set
from dna_bigbird.pipeline.sequence_set import sequence_set as sequence_set

__version__: str
