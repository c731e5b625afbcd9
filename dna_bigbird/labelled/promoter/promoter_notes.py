"""What `promoter-set` notes about a finished set: counts, few positives, the signal at the starts."""

from collections.abc import Iterator, Sequence

import numpy as np

from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.sites.start_signal import start_signal
from dna_bigbird.labelled.few_positives import few_positives
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.promoter.config import PromoterConfig
from dna_bigbird.labelled.set_files import LabelledSetFile
from dna_bigbird.labelled.splits import VALIDATION


def set_notes(
    result: LabelledSetFile,
    data: LabelledData,
    config: PromoterConfig,
    starts: Sequence[Interval],
    genome: Genome,
) -> Iterator[str]:
    """Yield the notes.

    Args:
        starts: The start sites as read.
    """
    validation = np.flatnonzero(data.split == VALIDATION)
    if text := few_positives(int(data.labels.positives(validation).sum()), result.output):
        yield text
    in_training = ""
    if config.training_negatives:
        in_training = f"; in training {len(config.training_methods)}, {config.training_negatives}"
    yield (
        f"{len(np.unique(data.pair))} promoters of {data.counts['sites_read']} sites, each with "
        f"{len(config.methods)} negative(s), {config.negatives}{in_training}: {result.counts_text()}"
    )
    signal = start_signal(genome, starts)
    yield str(signal)
    if text := signal.warning():
        yield text
