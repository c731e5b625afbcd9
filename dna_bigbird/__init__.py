"""BigBird for genomes: tokenizer, pretraining, promoter and chromatin models, predictions.

    from dna_bigbird import load, predict, embed, score_variants, mutagenesis, attribute, load_bundle
    from dna_bigbird import sequence_set, finetune, baseline, evaluate
    from dna_bigbird import demo_data, promoter_set, chromatin_set
    from dna_bigbird import pretrain, text

Each function has the name and options of its command. Nothing is imported before it is used: torch
takes seconds.
"""

from dna_bigbird.lazy_names import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "attribute": "dna_bigbird.inference.attributing",
        "baseline": "dna_bigbird.pipeline.baseline",
        "chromatin_set": "dna_bigbird.pipeline.chromatin_set",
        "demo_data": "dna_bigbird.pipeline.demo_data",
        "embed": "dna_bigbird.inference.embedding",
        "evaluate": "dna_bigbird.pipeline.evaluate",
        "finetune": "dna_bigbird.pipeline.finetune",
        "load": "dna_bigbird.pipeline.loaded_model",
        "load_bundle": "dna_bigbird.bundles.bundle",
        "mutagenesis": "dna_bigbird.inference.mutating",
        "predict": "dna_bigbird.inference.predicting",
        "pretrain": "dna_bigbird.pipeline.pretrain",
        "promoter_set": "dna_bigbird.pipeline.promoter_set",
        "score_variants": "dna_bigbird.inference.variants.scoring",
        "sequence_set": "dna_bigbird.pipeline.sequence_set",
        "text": "dna_bigbird.pipeline.text:",
    },
)
__all__ += ["__version__"]
