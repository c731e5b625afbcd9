"""`dna-bigbird baseline`."""

from pathlib import Path
from typing import Literal

from dna_bigbird.baselines.baseline_scores import BaselineScores, score_replicate
from dna_bigbird.baselines.config import (
    CnnPromConfig,
    DeePromoterConfig,
    DeepSeaConfig,
    GkmConfig,
    KmerConfig,
    Method,
)
from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.paths import (
    Hdf5Output,
    InputPath,
    OutputFolder,
    listed_paths,
    named_paths,
    next_to,
    optional_path,
)
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import Progress, SetGenome
from dna_bigbird.models.train_config import TrainConfig


@renamed(**{"kind": "method"})
@checked()
@shows_progress
def baseline(
    genome: SetGenome | None = None,
    data: InputPath | None = None,
    output: Hdf5Output | None = None,
    method: Method = "kmer",
    tracks: list[InputPath] | InputPath | None = None,
    checkpoints: OutputFolder | None = None,
    kmer: KmerConfig = KmerConfig(),  # noqa: B008 - --help shows the default
    gkm: GkmConfig = GkmConfig(),  # noqa: B008
    cnnprom: CnnPromConfig = CnnPromConfig(),  # noqa: B008
    deepromoter: DeePromoterConfig = DeePromoterConfig(),  # noqa: B008
    deepsea: DeepSeaConfig = DeepSeaConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    strand: Literal["both", "forward"] | None = None,
    search: Count = 0,
    seed: int = 0,
    threads: Count = 0,
    progress: Progress = True,
) -> BaselineScores:
    """Fit a baseline on a labelled set and score its held-out rows.

    k-mer counts, GC content, six numbers of composition in an RBF kernel, and what is at which position (bases,
    and 3-mers in parts of the window) go through a regression: logistic for labels, multinomial for classes,
    linear for targets. The motif rule is the best match of the TATA matrix before a start site, without training.
    gkm-SVM is a support vector machine per label on k-mers with gaps. A replicate is another measurement of the tracks
    of `track-set`, read as they were: about what a model can reach. The networks are trained by the same task as the
    model: killed and started again with the same command, they continue.

    Examples:
        dna-bigbird baseline --genome hg19.fa --data chromatin.h5 --output kmer.h5
        dna-bigbird baseline --genome hg19.fa --data chromatin.h5 --output gc.h5 --method gc
        dna-bigbird baseline --genome hg19.fa --data chromatin.h5 --output deepsea_cnn.h5 --method deepsea
        dna-bigbird baseline --genome hg19.fa --data tracks.h5 --output rep2.h5 --method replicate \\
            --tracks rep2/ctcf.bw rep2/h3k4me3.bw

    Args:
        data: Labelled set: made by sequence-set, promoter-set, chromatin-set, track-set or deepsea-set.
        output: Result to write: probabilities of every validation and test row, HDF5.
        method: Method: k-mer counts, GC content, composition, bases by position (windows of one length), the
            motif rule (sets of `promoter-set`), gkm-SVM, a published network
            (docs/explanation/counts-as-baselines.md), or a replicate of tracks.
        tracks: Tracks: of `replicate`, a file of signal for each track of the set, named as there: CTCF=rep2.bw.
        checkpoints: Folder for the state of the run; not part of the result. Networks have one; by
            default the path of `output` with `.checkpoints` added.
        kmer: What is counted; `gc` uses only `centre_bp` and `max_rows`, `composition` also `strands`.
        gkm: k-mers with gaps, for the method of that name.
        cnnprom: The network of that name.
        deepromoter: The network of that name.
        deepsea: The network of that name.
        training: How a network is trained.
        strand: Strands to read: on which a network is scored, the mean of a window and its reverse
            complement, or the window as the set orients it; as --strand of `evaluate`. Default:
            'forward' with --training.both_strands false on a set without bins, else 'both'. Counts of
            k-mers, with and without gaps, have no strand.
        search: Number of recipes to try: on the validation rows, for k-mers their length and strands, for a
            network rates, weight decay and dropout; the given recipe is the first. All are recorded in
            search.tsv in the folder of checkpoints. 0: none.
        seed: Seed of the random numbers: of a network's weights, order of windows and dropout; of
            the choice of training rows for k-mer counts, if the set has more than --kmer.max_rows or
            --gkm.max_rows.
        threads: CPU threads: of a network; 0 leaves the choice to torch.
    """
    from dna_bigbird.baselines.recipe_search import check_search

    check_search(search, training)

    data, output = named_paths(data=data, output=output)
    folder = Path(checkpoints or next_to(output, "checkpoints"))
    if (method == "replicate") != (tracks is not None):
        raise InputError(
            "--tracks: files for --method replicate, which needs them; no other has any"
        )
    if tracks is not None:
        return score_replicate(optional_path(genome), data, output, listed_paths(tracks))
    if method in ("kmer", "gc", "composition", "positional", "motif"):
        from dna_bigbird.baselines.kmer_baseline import fit_kmer_baseline

        return fit_kmer_baseline(
            optional_path(genome),
            data,
            output,
            kmer,
            method=method,
            seed=seed,
            num_recipes=search if method == "kmer" else 0,
            folder=folder,
        )
    if method == "gkm":
        from dna_bigbird.baselines.kmer_baseline import fit_gkm_baseline

        if search:
            raise InputError("--search is for kmer and the networks; --method gkm has one recipe")
        return fit_gkm_baseline(optional_path(genome), data, output, gkm, seed=seed)
    from dna_bigbird.core.limits import use_threads

    use_threads(threads)
    configs: dict[str, CnnPromConfig | DeePromoterConfig | DeepSeaConfig] = {
        "cnnprom": cnnprom,
        "deepromoter": deepromoter,
        "deepsea": deepsea,
    }
    fit = load("dna_bigbird.training.network_baseline:fit_network_baseline")
    return fit(
        optional_path(genome),
        data,
        output,
        configs[method],
        training,
        checkpoints=folder,
        seed=seed,
        strand=strand,
        num_recipes=search,
    )
