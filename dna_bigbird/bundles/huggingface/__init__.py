"""BigBird models of the Hugging Face library, read and written without that library."""

from dna_bigbird.bundles.huggingface.huggingface_reading import Converted, read_huggingface
from dna_bigbird.bundles.huggingface.huggingface_writing import write_huggingface

__all__ = ["Converted", "read_huggingface", "write_huggingface"]
