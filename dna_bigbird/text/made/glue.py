"""Made rows of the eight GLUE tasks in the official files.

The rules: SST-2 has words of its class; CoLA breaks the word order; in the pair tasks a word of the
second sentence tells the label; STS-B counts the words `same`.
"""

from collections.abc import Callable
from random import Random

from dna_bigbird.corpus.made_words import drawing, sentence, sizes
from dna_bigbird.text.made.classes import CLASS_WORDS

MNLI = {"entailment": "indeed", "neutral": "perhaps", "contradiction": "never"}
PAIR_WORDS = {"QNLI": ("answers", "ignores"), "RTE": ("indeed", "never")}
PARAPHRASE = {"0": "instead", "1": "again"}
PARSES = ["sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse", "sentence2_parse"]
MNLI_HEAD = ["index", "promptID", "pairID", "genre", *PARSES, "sentence1", "sentence2"]
STSB_HEAD = ["index", "genre", "filename", "year", "old_index", "source1", "source2"]
STSB_HEAD += ["sentence1", "sentence2"]


def with_word(rng: Random, word: str) -> str:
    """Return a sentence with a word put somewhere after its first."""
    words = sentence(rng).split()
    words.insert(rng.randrange(1, len(words) + 1), word)
    return " ".join(words)


def table(rows: list[list[object]]) -> bytes:
    """Return rows as tab-separated lines, nothing quoted."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()


def cola(rng: Random, count: int, test: bool) -> bytes:
    """No header but in the test file; an unacceptable sentence has its first two words swapped."""
    rows: list[list[object]] = [["index", "sentence"]] if test else []
    for i in range(count):
        label, words = i % 2, sentence(rng).split()
        words = words if label else [words[1], words[0], *words[2:]]
        mark = "" if label else "*"
        rows.append([i, " ".join(words)] if test else ["mk01", label, mark, " ".join(words)])
    return table(rows)


def sst2(rng: Random, count: int, test: bool) -> bytes:
    """Words of the film reviews' classes."""
    rows: list[list[object]] = [["index", "sentence"] if test else ["sentence", "label"]]
    for i in range(count):
        text = with_word(rng, rng.choice(CLASS_WORDS["pos" if i % 2 else "neg"]))
        rows.append([i, text] if test else [text, i % 2])
    return table(rows)


def pairs(task: str, first: str, second: str) -> Callable[[Random, int, bool], bytes]:
    """QNLI and RTE: one word of the second sentence for each of the two labels."""

    def write(rng: Random, count: int, test: bool) -> bytes:
        rows: list[list[object]] = [["index", first, second] + ([] if test else ["label"])]
        for i in range(count):
            text = [i, sentence(rng), with_word(rng, PAIR_WORDS[task][i % 2])]
            rows.append(text if test else [*text, ("entailment", "not_entailment")[i % 2]])
        return table(rows)

    return write


def qqp(rng: Random, count: int, test: bool) -> bytes:
    """Duplicate questions say `again`."""
    ids = [] if test else ["qid1", "qid2"]
    rows: list[list[object]] = [
        ["id", *ids, "question1", "question2"] + ([] if test else ["is_duplicate"])
    ]
    for i in range(count):
        text = [sentence(rng) + "?", with_word(rng, PARAPHRASE[str(i % 2)]) + "?"]
        rows.append([i, *text] if test else [i, 2 * i, 2 * i + 1, *text, i % 2])
    return table(rows)


def stsb(rng: Random, count: int, test: bool) -> bytes:
    """The score is the number of words `same` in the second sentence, 0 to 5."""
    rows: list[list[object]] = [STSB_HEAD + ([] if test else ["score"])]
    for i in range(count):
        score = i % 6
        text = [sentence(rng), " ".join([sentence(rng), *["same"] * score])]
        row = [i, "made", "made", "2020", i, "none", "none", *text]
        rows.append(row if test else [*row, f"{score}.000"])
    return table(rows)


def mnli(rng: Random, count: int, split: str) -> bytes:
    """`train` has one annotator, `dev` five, `test` no label."""
    last = {"train": ["label1"], "dev": [f"label{i}" for i in range(1, 6)], "test": []}[split]
    rows: list[list[object]] = [[*MNLI_HEAD, *last] + (["gold_label"] if last else [])]
    for i in range(count):
        label = list(MNLI)[i % 3]
        text = [sentence(rng), with_word(rng, MNLI[label])]
        parses = [f"( {x} )" for x in text] + [f"(ROOT {x})" for x in text]
        row = [i, i, f"{i}{label[0]}", "made", *parses, *text]
        rows.append([*row, *[label] * (len(last) + 1)] if last else row)
    return table(rows)


def mrpc(rng: Random, count: int, start: int) -> list[list[object]]:
    """Quality, two ids, two sentences; paraphrases say `again`."""
    return [
        [
            i % 2,
            2 * (start + i),
            2 * (start + i) + 1,
            sentence(rng),
            with_word(rng, PARAPHRASE[str(i % 2)]),
        ]
        for i in range(count)
    ]


TASKS = {
    "CoLA": cola,
    "SST-2": sst2,
    "QNLI": pairs("QNLI", "question", "sentence"),
    "RTE": pairs("RTE", "sentence1", "sentence2"),
    "QQP": qqp,
    "STS-B": stsb,
}


def glue(seed: int, examples: int) -> dict[str, bytes]:
    """All eight tasks: `train`, `dev` and `test` files; MRPC as the official `train`, `test`, `dev_ids`."""
    files = {}
    counts = dict(zip(("train", "dev", "test"), sizes(examples).values(), strict=True))
    for task, write in TASKS.items():
        for name, count in counts.items():
            rng = drawing(seed, f"glue/{task}/{name}")
            files[f"glue/{task}/{name}.tsv"] = write(rng, count, name == "test")
    for name, count in counts.items():
        endings = [""] if name == "train" else ["_matched", "_mismatched"]
        for ending in endings:
            rng = drawing(seed, f"glue/MNLI/{name}{ending}")
            files[f"glue/MNLI/{name}{ending}.tsv"] = mnli(rng, count, name)
    head: list[list[object]] = [["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]]
    rng = drawing(seed, "glue/MRPC")
    known = mrpc(rng, counts["train"] + counts["dev"], 0)
    held_out = mrpc(rng, counts["test"], len(known))
    mark = b"\xef\xbb\xbf"  # the official files begin with a byte order mark
    files["glue/MRPC/msr_paraphrase_train.txt"] = mark + table(head + known)
    files["glue/MRPC/msr_paraphrase_test.txt"] = mark + table(head + held_out)
    files["glue/MRPC/dev_ids.tsv"] = table([row[1:3] for row in known[counts["train"] :]])
    return files
