"""Packages that the core does not install, and the extra of dna-bigbird that does."""

EXTRAS = {
    "anndata": "anndata",
    "jinja2": "train",
    "jsonschema": "workflow",
    "kenlm": "kenlm",
    "lightning_fabric": "train",
    "memelite": "motifs",
    "modiscolite": "motifs",
    "pandas": "dataframe",
    "pyarrow": "bench",
    "pybedtools": "train",
    "pyfaidx": "train",
    "pyjaspar": "motifs",
    "pyliftover": "train",
    "pytorch_lightning": "train",
    "rouge_score": "text",
    "scipy": "train",
    "sklearn": "train",
    "threadpoolctl": "train",
    "triton": "dev",
}
"""Module: extra. pyproject.toml has the package of each."""


def advice(module: str) -> str:
    """Return the line for the user if a module of an extra is missing; empty for other modules.

    Example:
        >>> advice("sklearn")
        "sklearn is not installed; type: pip install 'dna-bigbird[train]'"
        >>> advice("pytorch_lightning.no_such_part"), advice("numpy")
        ('', '')
    """
    extra = EXTRAS.get(module)
    return f"{module} is not installed; type: pip install 'dna-bigbird[{extra}]'" if extra else ""
