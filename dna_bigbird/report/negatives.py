"""What each way of making negatives means for a promoter score."""

NEGATIVES = {
    "random_base": (
        "Each promoter is cut into 20 parts and 12 of them are replaced by random bases, as in "
        "DeePromoter and the BigBird paper. Such negatives are easy to spot without any biology: "
        "counting words of 1 to 5 bases reaches F1 0.92 (threshold 0.5) on 300-bp TATA promoters, and "
        "more on longer windows. A high score here says little; look at the k-mer baseline first."
    ),
    "permuted": (
        "Each promoter is cut into 20 parts and 12 of them change places among themselves, as GENA-LM "
        "does. A negative has nearly the words of its promoter, so counting words stays near F1 0.56 "
        "(threshold 0.5) on 300-bp TATA promoters: what is gained above that comes from where things stand."
    ),
    "genomic": (
        "Each promoter has a real window of the genome away from any known start site, with about the "
        "same GC content and share of repeats. These are the windows that a scan of a genome meets; a "
        "k-mer baseline above chance shows words that promoters have beyond their GC content."
    ),
}
"""By the name that a set carries (`negatives`)."""
