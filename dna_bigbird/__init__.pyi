"""Types of the public names, for type checkers: `__init__.py` imports a name when it is used."""

from dna_bigbird import text as text
from dna_bigbird.baselines.baseline import baseline as baseline
from dna_bigbird.bench.bench import bench as _bench
from dna_bigbird.bench.bench_leakage import bench_leakage as bench_leakage
from dna_bigbird.bench.bench_list import bench_list as bench_list
from dna_bigbird.bench.bench_page import bench_page as bench_page
from dna_bigbird.bundles.bundle import load_bundle as load_bundle
from dna_bigbird.bundles.convert import convert as convert
from dna_bigbird.bundles.ensemble import ensemble as ensemble
from dna_bigbird.bundles.info import info as info
from dna_bigbird.bundles.models import models_add as models_add
from dna_bigbird.bundles.models import models_list as models_list
from dna_bigbird.bundles.models import models_remove as models_remove
from dna_bigbird.cli.completion import completion as completion
from dna_bigbird.core.errors import InputError as InputError
from dna_bigbird.corpus.draw_documents import draw_documents as draw_documents
from dna_bigbird.corpus.token_statistics import token_statistics as token_statistics
from dna_bigbird.corpus.tokenize import tokenize as tokenize
from dna_bigbird.corpus.train_tokenizer import train_tokenizer as train_tokenizer
from dna_bigbird.demo.demo_data import demo_data as demo_data
from dna_bigbird.evaluation.compare_attention import compare_attention as compare_attention
from dna_bigbird.evaluation.compare_heads import compare_heads as compare_heads
from dna_bigbird.evaluation.compare_lm import compare_lm as compare_lm
from dna_bigbird.evaluation.compare_seeds import compare_seeds as compare_seeds
from dna_bigbird.evaluation.evaluate import evaluate as evaluate
from dna_bigbird.evaluation.evaluate_characters import evaluate_characters as evaluate_characters
from dna_bigbird.evaluation.evaluate_lm import evaluate_lm as evaluate_lm
from dna_bigbird.evaluation.rank_variants import rank_variants as rank_variants
from dna_bigbird.genome.fetch import fetch as fetch
from dna_bigbird.genome.genome import genome as _genome
from dna_bigbird.genome.lift_over import lift_over as lift_over
from dna_bigbird.labelled.chromatin.chromatin_set import chromatin_set as chromatin_set
from dna_bigbird.labelled.deepsea.deepsea_set import deepsea_set as deepsea_set
from dna_bigbird.labelled.leakage import leakage as leakage
from dna_bigbird.labelled.promoter.promoter_sequences import (
    promoter_sequences as promoter_sequences,
)
from dna_bigbird.labelled.promoter.promoter_set import promoter_set as promoter_set
from dna_bigbird.labelled.sequences.sequence_set import sequence_set as sequence_set
from dna_bigbird.labelled.tracks.track_set import track_set as track_set
from dna_bigbird.prediction.attribute import attribute as attribute
from dna_bigbird.prediction.design import design as design
from dna_bigbird.prediction.embed import embed as embed
from dna_bigbird.prediction.loaded_model import load as load
from dna_bigbird.prediction.marginalise import marginalise as marginalise
from dna_bigbird.prediction.motifs import motifs as motifs
from dna_bigbird.prediction.mutagenesis import mutagenesis as mutagenesis
from dna_bigbird.prediction.predict import predict as predict
from dna_bigbird.prediction.score_variants import score_variants as score_variants
from dna_bigbird.report.plot_attention import plot_attention as plot_attention
from dna_bigbird.report.report import report as _report
from dna_bigbird.report.view import view as view
from dna_bigbird.theory.theory_furthest import furthest as _furthest
from dna_bigbird.theory.theory_graph import graph as _graph
from dna_bigbird.theory.theory_mapping import mapping as _mapping
from dna_bigbird.theory.theory_turing import turing as _turing
from dna_bigbird.training.finetune import finetune as finetune
from dna_bigbird.training.pretrain import pretrain as pretrain
from dna_bigbird.training.train_characters import train_characters as train_characters
from dna_bigbird.workflow.clear_lock import clear_lock as clear_lock
from dna_bigbird.workflow.doctor import doctor as doctor
from dna_bigbird.workflow.init import init as init
from dna_bigbird.workflow.plan import plan as plan

__version__: str
# A stub exports an import under another name only in this way.
bench_suite = _bench
prepare_genome = _genome
theory_furthest = _furthest
theory_graph = _graph
theory_mapping = _mapping
theory_turing = _turing
write_report = _report
