"""Types of the public names, for type checkers: `__init__.py` imports a name when it is used."""

from dna_bigbird import text as text
from dna_bigbird.baselines.baseline import baseline as baseline
from dna_bigbird.bundles.bundle import load_bundle as load_bundle
from dna_bigbird.core.errors import InputError as InputError
from dna_bigbird.demo.demo_data import demo_data as demo_data
from dna_bigbird.evaluation.evaluate import evaluate as evaluate
from dna_bigbird.labelled.chromatin.chromatin_set import chromatin_set as chromatin_set
from dna_bigbird.labelled.promoter.promoter_set import promoter_set as promoter_set
from dna_bigbird.labelled.sequences.sequence_set import sequence_set as sequence_set
from dna_bigbird.prediction.attribute import attribute as attribute
from dna_bigbird.prediction.embed import embed as embed
from dna_bigbird.prediction.loaded_model import load as load
from dna_bigbird.prediction.mutagenesis import mutagenesis as mutagenesis
from dna_bigbird.prediction.predict import predict as predict
from dna_bigbird.prediction.score_variants import score_variants as score_variants
from dna_bigbird.training.finetune import finetune as finetune
from dna_bigbird.training.pretrain import pretrain as pretrain

__version__: str
