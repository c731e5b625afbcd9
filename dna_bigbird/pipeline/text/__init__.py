"""Text: what each command of `dna-bigbird text` does, as a Python function."""

from dna_bigbird.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vocabulary": "dna_bigbird.pipeline.text.vocabulary_learning",
        "pretrain": "dna_bigbird.pipeline.text.text_pretraining",
        "warm_start": "dna_bigbird.pipeline.text.warm_started",
        "train": "dna_bigbird.pipeline.text.text_training",
        "evaluate": "dna_bigbird.pipeline.text.text_evaluation",
        "runs": "dna_bigbird.pipeline.text.repeated_runs",
        "predict": "dna_bigbird.pipeline.text.text_prediction",
        "documents": "dna_bigbird.pipeline.text.plain_documents",
        "made_data": "dna_bigbird.pipeline.text.made_text",
        "compare_patterns": "dna_bigbird.pipeline.text.pattern_comparison",
        "tables": "dna_bigbird.pipeline.text.paper_tables",
    },
)
