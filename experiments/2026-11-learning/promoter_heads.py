"""Promoters with BigBird-ETC at equal processor time: [CLS], the mean of the tokens, one global token.

    python experiments/2026-11-learning/promoter_heads.py --genome tata.fa --data set.h5 --kmer kmer.h5 --folder results/etc-promoters \\
        --minutes 1.5 --seeds 2

The set is one of `promoter-set`, kmer.h5 its `dna-bigbird baseline`. Every head sits on the same small encoder with
fresh weights, of attention etc and a token per base, and trains for the processor time of --minutes on one
thread; ten steps of every head are timed first, in turns. AUROC on the test rows, forward strand, with 95 % bootstrap intervals, and
paired differences to [CLS]. What is in the folder is not computed again.
"""

from pathlib import Path

from timed_heads import TimedHeads, parse, with_interval

from dna_bigbird.models.attention_config import EtcChanges
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.training.label_config import LabelHeadConfig

ARMS = {
    "cls": {"pooling": "cls"},
    "mean": {"pooling": "mean"},
    "bin": {"pooling": "bin", "bin_bp": 300},
}
"""One bin: the whole promoter of 300 bp."""
ENCODER = EncoderChanges(
    hidden_size=64,
    ffn_size=256,
    attention="etc",
    etc=EtcChanges(radius=32, tokens_per_global=32),
)
TRAINING = {"batch_size": 16, "learning_rate": 1e-3, "precision": "32-true"}
HEADER = ("seed", "head", "steps", "processor_s", "AUROC", "AUROC minus cls", "k-mers", "n")


def main(arguments: list[str] | None = None) -> None:
    """Train, score and print the table."""
    options = parse(__doc__.split("\n")[0], (), 1.5, arguments)
    fresh = {"tokenizer": Path("bases"), "model": ENCODER}
    arms = {arm: {**fresh, "head": LabelHeadConfig(**head)} for arm, head in ARMS.items()}
    print(*HEADER, sep="\t")
    for seed in range(options.seeds):
        heads = TimedHeads(options, seed, arms, TRAINING)
        for arm in ARMS:
            figures = heads.result(arm)
            metrics = figures["metrics"]
            cells = [with_interval(metrics, x) for x in ("auroc", "auroc_gain_over_first")]
            cells.append(with_interval(metrics["baselines"]["kmer"], "auroc"))
            counts = (figures["steps"], figures["processor_s"])
            print(seed, arm, *counts, *cells, metrics["n"], sep="\t", flush=True)


if __name__ == "__main__":
    main()
