"""Types of the public names, for type checkers: `__init__.py` imports a name when it is used."""

from dna_bigbird.text.text_compare_patterns import compare_patterns as compare_patterns
from dna_bigbird.text.text_documents import documents as documents
from dna_bigbird.text.text_evaluate import evaluate as evaluate
from dna_bigbird.text.text_made_data import made_data as made_data
from dna_bigbird.text.text_predict import predict as predict
from dna_bigbird.text.text_pretrain import pretrain as pretrain
from dna_bigbird.text.text_runs import runs as runs
from dna_bigbird.text.text_tables import tables as tables
from dna_bigbird.text.text_train import train as train
from dna_bigbird.text.text_vocabulary import vocabulary as vocabulary
from dna_bigbird.text.text_warm_start import warm_start as warm_start
