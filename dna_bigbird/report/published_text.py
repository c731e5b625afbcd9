"""Tables 2, 4, 10, 15, 16 and 20 of the BigBird paper, cell by cell as printed there.

Nothing in them was computed or repeated here. A dash is a cell that the paper leaves empty.
"""

from dataclasses import dataclass

NONE = "–"


@dataclass(frozen=True)
class Column:
    """One column of a published table, and where the measured counterpart stands."""

    title: str
    run: str
    """Folder of the evaluation."""
    keys: tuple[str, ...]
    """Scores of its metrics.json, as many as the cell has numbers."""
    factor: float = 100.0
    """From metrics.json to the table."""
    higher_is_better: bool = True


@dataclass(frozen=True)
class PublishedTable:
    """A table of the paper."""

    number: int
    title: str
    about: str
    columns: tuple[Column, ...]
    rows: dict[str, tuple[str, ...]]
    """By system; as many cells as there are columns."""


def _rows(text: str) -> dict[str, tuple[str, ...]]:
    """Read rows of cells parted by bars."""
    rows = {}
    for line in text.strip().splitlines():
        name, *cells = (cell.strip() for cell in line.split("|"))
        rows[name] = tuple(cells)
    return rows


def _rouge(title: str, run: str) -> Column:
    return Column(title, run, ("rouge1", "rouge2", "rougeLsum"), factor=1.0)


def _glue(title: str, run: str, *keys: str) -> Column:
    return Column(title, run, keys)


TABLES = (
    PublishedTable(
        2,
        "Question answering, development sets, base size",
        "F1 of HotpotQA (answer, supporting facts, both), Natural Questions (long and short answer) and "
        "TriviaQA (Wikipedia, full); accuracy of WikiHop. In per cent.",
        (
            Column("HotpotQA Ans", "hotpotqa", ("f1",)),
            Column("Sup", "hotpotqa", ("sp_f1",)),
            Column("Joint", "hotpotqa", ("joint_f1",)),
            Column("NQ LA", "natural-questions", ("long_f1",)),
            Column("NQ SA", "natural-questions", ("short_f1",)),
            Column("TriviaQA Full", "triviaqa", ("f1",)),
            Column("WikiHop", "wikihop", ("accuracy",)),
        ),
        _rows("""
            RoBERTa | 73.5 | 83.4 | 63.5 | – | – | 74.3 | 72.4
            Longformer | 74.3 | 84.4 | 64.4 | – | – | 75.2 | 75.0
            BigBird-ITC | 75.7 | 86.8 | 67.7 | 70.8 | 53.3 | 79.5 | 75.9
            BigBird-ETC | 75.5 | 87.1 | 67.8 | 73.9 | 54.9 | 78.7 | 75.9
        """),
    ),
    PublishedTable(
        4,
        "Summaries of long documents",
        "ROUGE-1 / ROUGE-2 / ROUGE-L (over whole summaries, rougeLsum), F-measure times 100.",
        (_rouge("Arxiv", "arxiv"), _rouge("PubMed", "pubmed"), _rouge("BigPatent", "bigpatent")),
        _rows("""
            SumBasic | 29.47 / 6.95 / 26.30 | 37.15 / 11.36 / 33.43 | 27.44 / 7.08 / 23.66
            LexRank | 33.85 / 10.73 / 28.99 | 39.19 / 13.89 / 34.59 | 35.57 / 10.47 / 29.03
            LSA | 29.91 / 7.42 / 25.67 | 33.89 / 9.93 / 29.70 | –
            Attn-Seq2Seq | 29.30 / 6.00 / 25.56 | 31.55 / 8.52 / 27.38 | 28.74 / 7.87 / 24.66
            Pntr-Gen-Seq2Seq | 32.06 / 9.04 / 25.16 | 35.86 / 10.22 / 29.69 | 33.14 / 11.63 / 28.55
            Long-Doc-Seq2Seq | 35.80 / 11.05 / 31.80 | 38.93 / 15.37 / 35.21 | –
            Sent-CLF | 34.01 / 8.71 / 30.41 | 45.01 / 19.91 / 41.16 | 36.20 / 10.99 / 31.83
            Sent-PTR | 42.32 / 15.63 / 38.06 | 43.30 / 17.92 / 39.47 | 34.21 / 10.78 / 30.07
            Extr-Abst-TLM | 41.62 / 14.69 / 38.03 | 42.13 / 16.27 / 39.21 | 38.65 / 12.31 / 34.09
            Dancer | 42.70 / 16.54 / 38.44 | 44.09 / 17.69 / 40.27 | –
            Base Transformer | 28.52 / 6.70 / 25.58 | 31.71 / 8.32 / 29.42 | 39.66 / 20.94 / 31.20
            Base + RoBERTa | 31.98 / 8.13 / 29.53 | 35.77 / 13.85 / 33.32 | 41.11 / 22.10 / 32.58
            Base + Pegasus | 34.81 / 10.16 / 30.14 | 39.98 / 15.15 / 35.89 | 43.55 / 20.43 / 31.80
            BigBird-RoBERTa (base) | 41.22 / 16.43 / 36.96 | 43.70 / 19.32 / 39.99 | 55.69 / 37.27 / 45.56
            Pegasus large, reported | 44.21 / 16.95 / 38.83 | 45.97 / 20.15 / 41.34 | 52.29 / 33.08 / 41.75
            Pegasus large, re-evaluated | 43.85 / 16.83 / 39.17 | 44.53 / 19.30 / 40.70 | 52.25 / 33.04 / 41.80
            BigBird-Pegasus (large) | 46.63 / 19.02 / 41.77 | 46.32 / 20.65 / 42.33 | 60.64 / 42.46 / 50.01
        """),
    ),
    PublishedTable(
        10,
        "Masked language modelling",
        "Bits per masked token on held-out text, fewer is better. The paper writes BPC; its numbers are those "
        "of Longformer's code, which divides by tokens, not by characters.",
        (
            Column("base", "pretrained", ("bits_per_token",), 1.0, higher_is_better=False),
            Column("large", "", (), 1.0, higher_is_better=False),
        ),
        _rows("""
            RoBERTa (512 tokens) | 1.846 | 1.496
            Longformer (4096) | 1.705 | 1.358
            BigBird-ITC (4096) | 1.678 | 1.456
            BigBird-ETC (4096) | 1.611 | 1.274
        """),
    ),
    PublishedTable(
        15,
        "Classification of documents",
        "Micro-averaged F1 in per cent; with one label a document it is the accuracy. ± is the standard "
        "deviation of five runs.",
        tuple(
            Column(title, run, ("micro_f1",))
            for title, run in (
                ("IMDb", "imdb"),
                ("Yelp-5", "yelp5"),
                ("Arxiv", "arxiv-topics"),
                ("Patents", "patents"),
                ("Hyperpartisan", "hyperpartisan"),
            )
        ),
        _rows("""
            Best earlier | 97.4 | 73.28 | 87.96 | 69.01 | 90.6
            RoBERTa (512) | 95.0 ± 0.2 | 71.75 | 87.42 | 67.07 | 87.8 ± 0.8
            BigBird | 95.2 ± 0.2 | 72.16 | 92.31 | 69.30 | 92.2 ± 1.7
        """),
    ),
    PublishedTable(
        16,
        "GLUE, development sets, base size",
        "Matthews correlation for CoLA, F1 for MRPC, Spearman correlation for STS-B, accuracy for the others; "
        "times 100.",
        (
            _glue("MNLI m/mm", "mnli", "accuracy_matched", "accuracy_mismatched"),
            _glue("QQP", "qqp", "accuracy"),
            _glue("QNLI", "qnli", "accuracy"),
            _glue("SST-2", "sst2", "accuracy"),
            _glue("CoLA", "cola", "matthews"),
            _glue("STS-B", "stsb", "spearman"),
            _glue("MRPC", "mrpc", "f1"),
            _glue("RTE", "rte", "accuracy"),
        ),
        _rows("""
            BERT | 84.6/83.4 | 71.2 | 90.5 | 93.5 | 52.1 | 85.8 | 88.9 | 66.4
            XLNet | 86.8/– | 91.4 | 91.7 | 94.7 | 60.2 | 89.5 | 88.2 | 74.0
            RoBERTa | 87.6/– | 91.9 | 92.8 | 94.8 | 63.6 | 91.2 | 90.2 | 78.7
            BigBird | 87.5/87.3 | 88.6 | 92.2 | 94.6 | 58.5 | 87.8 | 91.5 | 75.0
        """),
    ),
    PublishedTable(
        20,
        "Summaries of shorter documents",
        "ROUGE-1 / ROUGE-2 / ROUGE-L (over whole summaries, rougeLsum), F-measure times 100.",
        (_rouge("BBC XSum", "xsum"), _rouge("CNN/DailyMail", "cnn-dailymail")),
        _rows("""
            Lead | 16.30 / 1.61 / 11.95 | 39.60 / 17.70 / 36.20
            PtGen | 29.70 / 9.21 / 23.24 | 39.53 / 17.28 / 36.38
            ConvS2S | 31.89 / 11.54 / 25.75 | –
            MMN | 32.00 / 12.10 / 26.00 | –
            Bottom-Up | – | 41.22 / 18.68 / 38.34
            TransLM | – | 39.65 / 17.74 / 36.85
            UniLM | – | 43.47 / 20.30 / 40.63
            Extr-Abst-BERT | 38.81 / 16.50 / 31.27 | 42.13 / 19.60 / 39.18
            BART | 45.14 / 22.27 / 37.25 | 44.16 / 21.28 / 40.90
            Base Transformer | 29.61 / 9.47 / 23.17 | 34.89 / 13.13 / 32.12
            Base + RoBERTa | 39.92 / 17.33 / 32.63 | 39.44 / 18.69 / 36.80
            Base + Pegasus | 39.79 / 16.58 / 31.70 | 41.79 / 18.81 / 38.93
            BigBird-RoBERTa | 39.52 / 17.22 / 32.30 | 39.25 / 18.46 / 36.61
            Pegasus large, reported | 47.60 / 24.83 / 39.64 | 44.16 / 21.56 / 41.30
            Pegasus large, re-evaluated | 47.37 / 24.31 / 39.23 | 44.15 / 21.56 / 41.05
            BigBird-Pegasus | 47.12 / 24.05 / 38.80 | 43.84 / 21.11 / 40.74
        """),
    ),
)
"""In the order of the paper."""
