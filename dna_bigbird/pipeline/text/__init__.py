"""Text: what each command of `dna-bigbird text` does, as a Python function."""

import importlib

_MODULES = {
    "vocabulary": "vocabulary_learning",
    "pretrain": "text_pretraining",
    "warm_start": "warm_started",
    "train": "text_training",
    "evaluate": "text_evaluation",
    "runs": "repeated_runs",
    "predict": "text_prediction",
    "documents": "plain_documents",
    "made_data": "made_text",
    "tables": "paper_tables",
}
"""Function: its module here. No module has the name of a function, so importing never hides one."""

__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
