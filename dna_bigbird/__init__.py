"""BigBird for genomes: tokenizer, pretraining, promoter and chromatin models, predictions.

    from dna_bigbird import load, predict, embed, score_variants, mutagenesis, attribute, load_bundle
    from dna_bigbird import sequence_set, finetune, baseline, evaluate
    from dna_bigbird import demo_data, promoter_set, chromatin_set
    from dna_bigbird import pretrain, text

Each function has the name and options of its command. Nothing is imported before it is used: torch
takes seconds.
"""

from dna_bigbird.core.lazy_names import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "InputError": "dna_bigbird.core.errors",
        "attribute": "dna_bigbird.prediction.attribute",
        "baseline": "dna_bigbird.baselines.baseline",
        "chromatin_set": "dna_bigbird.labelled.chromatin.chromatin_set",
        "demo_data": "dna_bigbird.demo.demo_data",
        "embed": "dna_bigbird.prediction.embed",
        "evaluate": "dna_bigbird.evaluation.evaluate",
        "finetune": "dna_bigbird.training.finetune",
        "load": "dna_bigbird.prediction.loaded_model",
        "load_bundle": "dna_bigbird.bundles.bundle",
        "mutagenesis": "dna_bigbird.prediction.mutagenesis",
        "predict": "dna_bigbird.prediction.predict",
        "pretrain": "dna_bigbird.training.pretrain",
        "promoter_set": "dna_bigbird.labelled.promoter.promoter_set",
        "score_variants": "dna_bigbird.prediction.score_variants",
        "sequence_set": "dna_bigbird.labelled.sequences.sequence_set",
        "text": "dna_bigbird.text:",
    },
)
__all__ += ["__version__"]
