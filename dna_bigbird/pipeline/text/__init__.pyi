"""Types of the public names, for type checkers: `__init__.py` imports a name when it is used."""

from dna_bigbird.pipeline.text.made_text import made_data as made_data
from dna_bigbird.pipeline.text.paper_tables import tables as tables
from dna_bigbird.pipeline.text.pattern_comparison import compare_patterns as compare_patterns
from dna_bigbird.pipeline.text.plain_documents import documents as documents
from dna_bigbird.pipeline.text.repeated_runs import runs as runs
from dna_bigbird.pipeline.text.text_evaluation import evaluate as evaluate
from dna_bigbird.pipeline.text.text_prediction import predict as predict
from dna_bigbird.pipeline.text.text_pretraining import pretrain as pretrain
from dna_bigbird.pipeline.text.text_training import train as train
from dna_bigbird.pipeline.text.vocabulary_learning import vocabulary as vocabulary
from dna_bigbird.pipeline.text.warm_started import warm_start as warm_start
