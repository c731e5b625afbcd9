"""Text: what each command of `dna-bigbird text` does, as a Python function."""

from dna_bigbird.core.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vocabulary": "dna_bigbird.text.text_vocabulary",
        "pretrain": "dna_bigbird.text.text_pretrain",
        "warm_start": "dna_bigbird.text.text_warm_start",
        "train": "dna_bigbird.text.text_train",
        "evaluate": "dna_bigbird.text.text_evaluate",
        "runs": "dna_bigbird.text.text_runs",
        "predict": "dna_bigbird.text.text_predict",
        "documents": "dna_bigbird.text.text_documents",
        "made_data": "dna_bigbird.text.text_made_data",
        "compare_patterns": "dna_bigbird.text.text_compare_patterns",
        "tables": "dna_bigbird.text.text_tables",
    },
)
