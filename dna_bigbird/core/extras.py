"""Packages that the core does not install, and the extra of dna-bigbird that does."""

import json
import os
import shlex
from urllib.parse import unquote, urlsplit

EXTRAS = {
    "anndata": "anndata", "jinja2": "train", "jsonschema": "workflow", "kenlm": "kenlm",
    "lightning_fabric": "train", "memelite": "motifs", "modiscolite": "motifs",
    "pandas": "dataframe", "pyarrow": "bench", "pybedtools": "train", "pyfaidx": "train",
    "pyjaspar": "motifs", "pyliftover": "train", "pytorch_lightning": "train",
    "rouge_score": "text", "scipy": "train", "sklearn": "train", "snakemake": "workflow",
    "threadpoolctl": "train", "triton": "dev",
}  # fmt: skip
"""Module: extra. pyproject.toml has the package of each."""


def install_command(extra: str) -> str:
    """Return what installs an extra: from the checkout or file that dna-bigbird came from, else its name."""
    target = shlex.quote(f"{_local_source() or 'dna-bigbird'}[{extra}]")
    return f"pip install {target}"


def _local_source() -> str | None:
    """Return the folder or file that pip installed dna-bigbird from, if it is still there."""
    # pip writes down where a package came from (PEP 610, direct_url.json).
    from importlib import metadata  # only after an error: it takes 20 ms

    for distribution in metadata.distributions(name="dna-bigbird"):
        record = json.loads(distribution.read_text("direct_url.json") or "{}")
        url = urlsplit(record.get("url", ""))
        if url.scheme == "file" and os.path.exists(path := unquote(url.path)):
            return path
    return None


def advice(module: str) -> str:
    """Return the line for the user if a module of an extra is missing; empty for other modules.

    Example:
        >>> advice("sklearn")  # doctest: +ELLIPSIS
        "sklearn is not installed; type: pip install '...[train]'"
        >>> advice("pytorch_lightning.no_such_part"), advice("numpy")
        ('', '')
    """
    extra = EXTRAS.get(module)
    return f"{module} is not installed; type: {install_command(extra)}" if extra else ""
