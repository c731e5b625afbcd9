"""The terms of the report, each defined once and linked from where it is used."""

from dna_bigbird.report.markup import Html, as_html

TERMS = {
    "bits-per-base": (
        "bits per base",
        "How many bits the model needs to name one base it was not shown: the negative "
        "log-likelihood of the predicted tokens, divided by ln 2 and by the base pairs those tokens "
        "cover. Lower is better. Guessing A, C, G, T evenly costs 2.",
    ),
    "masked": (
        "masked and causal",
        "A masked score fills hidden tokens and sees the sequence on both sides; a causal score reads "
        "from left to right and sees only what came before. They answer different questions and are "
        "never ranked against each other here.",
    ),
    "token": (
        "token",
        "A short piece of DNA (a few bases) from a vocabulary learnt by byte-pair encoding; the unit "
        "the model reads. How many bases one token covers on average is measured, not assumed.",
    ),
    "ngram": (
        "unigram, n-gram",
        "Baselines without a network. A unigram knows only how frequent each token is; an n-gram "
        "predicts a token or base from its neighbours by counting. Of the tokens to be named, a few "
        "are shown unchanged or swapped instead of hidden; an informed baseline makes use of what "
        "is shown there, as the model can.",
    ),
    "mlm": (
        "masked-token accuracy (MLM)",
        "Share of hidden tokens that the model names exactly, out of the whole vocabulary.",
    ),
    "nsp": (
        "next-sentence accuracy (NSP)",
        "Share of pairs of sequences for which the model tells correctly whether the second one "
        "follows the first in the genome; guessing gets 0.5.",
    ),
    "auroc": (
        "AUROC",
        "Area under the ROC curve: the chance that a random positive window scores above a random "
        "negative one. 0.5 is guessing, 1 is perfect. It does not depend on how rare positives are.",
    ),
    "auprc": (
        "AUPRC",
        "Area under the precision-recall curve (average precision). Guessing gets the share of "
        "positives, so compare it only on the same test rows.",
    ),
    "roc": (
        "ROC curve",
        "True positive rate against false positive rate while the decision threshold moves.",
    ),
    "pr": (
        "precision-recall curve",
        "Precision is the share of called windows that are positive; recall is the share of positive "
        "windows that are called.",
    ),
    "f1": (
        "F1, MCC",
        "F1 is the harmonic mean of precision and recall; MCC the correlation of call and truth. Both "
        "need a threshold, which is chosen on the validation split and never on the test split.",
    ),
    "calibration": (
        "calibration",
        "Whether probabilities mean what they say: of all windows with probability 0.3, three in ten "
        "should be positive. The expected error is the mean distance between the two, over bins of "
        "equal numbers of test rows. AUROC and AUPRC do not depend on it.",
    ),
    "interval": (
        "95 % interval",
        "In square brackets. The test rows are drawn again with replacement many times (bootstrap); "
        "95 % of the scores so obtained lie inside. It shows the chance of the test set, not that of "
        "training again with another seed. The interval of a difference scores both on the same "
        "draws, so it is sharper than two intervals held side by side.",
    ),
    "macro": (
        "macro, micro, median",
        "Macro is the mean over labels, each counting the same. Micro pools the cells of all labels, "
        "so frequent labels count more. The median over a group's labels is what papers report.",
    ),
    "kmer": (
        "k-mer baseline",
        "Logistic regression on the counts of short words in the window, fitted on the same training "
        "rows and scored on the same test rows. It knows no order and no distance.",
    ),
    "splits": (
        "training, validation, test",
        "Regions of the genome kept apart. The model learns on training regions; the step and the "
        "thresholds are chosen on validation; scores are from test regions, used once.",
    ),
    "peak-memory": (
        "peak memory",
        "Largest resident memory of a stage, with the processes it started.",
    ),
    "coordinates": (
        "coordinates",
        "Files count from 0 and leave out the end (as BED); a region written chr:start-end in this "
        "page counts from 1 and includes both ends, as genome browsers do.",
    ),
}


def term(key: str, text: str = "") -> Html:
    """Return a link to a definition, shown as `text` or as the term itself."""
    return Html(f'<a class="term" href="#term-{key}">{as_html(text or TERMS[key][0])}</a>')


def glossary() -> Html:
    """Return all definitions."""
    rows = "\n".join(
        f'<dt id="term-{key}">{as_html(name)}</dt><dd>{as_html(text)}</dd>'
        for key, (name, text) in TERMS.items()
    )
    return Html(f"<dl>\n{rows}\n</dl>")
