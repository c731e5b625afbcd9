"""The suites by name, in the order in which they are listed."""

from importlib import import_module

from dna_bigbird.bench.suites.suite import Suite
from dna_bigbird.core.errors import InputError

MODULES = {
    "genomic-benchmarks": "genomic_benchmarks",
    "gue": "gue",
    "nt": "nucleotide_transformer:ORIGINAL",
    "nt-revised": "nucleotide_transformer:REVISED",
    "bend": "bend",
    "traitgym": "traitgym",
    "bend-variants": "bend_variants",
    "dart-eval": "dart_eval",
    "paper": "paper",
    "long-range": "long_range",
    "tata-displacement": "tata",
}
"""Name on the command line to module; after a colon the name of the `Suite` in it, `SUITE` without."""


def find_suite(name: str) -> Suite:
    """Return a suite.

    Raises:
        InputError: If there is none of this name.
    """
    if name not in MODULES:
        raise InputError(f"{name}: no such suite; expected one of {', '.join(MODULES)}")
    module, _, attribute = MODULES[name].partition(":")
    return getattr(import_module(f"dna_bigbird.bench.suites.{module}"), attribute or "SUITE")


def all_suites() -> list[Suite]:
    """Return every suite."""
    return [find_suite(name) for name in MODULES]
