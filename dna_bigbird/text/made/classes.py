"""Made documents with classes, and made rows of the eight GLUE tasks, in their native layouts."""
# SST-2 has words of its class; CoLA breaks the word order; in the pair tasks a word of the second
# sentence tells the label; STS-B counts the words `same`.

import csv
import io
from collections.abc import Callable
from random import Random
from xml.sax.saxutils import quoteattr

from dna_bigbird.corpus.made_words import (
    drawing,
    filler,
    json_lines,
    placed,
    prose,
    sentence,
    sizes,
)

# The rule of all: a document has a few words of its class among filler, anywhere.

_CLASSES_AND_WORDS = """
    neg dreadful boring; pos wonderful moving; 1 filthy terrible; 2 overpriced bland;
    3 average ordinary; 4 friendly tasty; 5 superb perfect; cs.AI planner belief;
    cs.CE finance bonds; cs.cv pixel camera; cs.DS queue sorting; cs.IT channel entropy;
    cs.NE neuron genetic; cs.PL compiler syntax; cs.SY feedback actuator;
    math.AC ideal noetherian; math.GR coset abelian; math.ST estimator variance; A plough seed;
    B conveyor wheel; C polymer acid; D loom yarn; E drill girder; F piston turbine;
    G sensor lens; H antenna circuit; true traitors shameful; false reported committee
"""
CLASS_WORDS = {
    label: tuple(words) for label, *words in map(str.split, _CLASSES_AND_WORDS.split(";"))
}
"""Two words for every class of every set."""
ARXIV_CLASSES = [label for label in CLASS_WORDS if "." in label]


def document(rng: Random, label: str, count: int = 8) -> str:
    """Return filler with three mentions of the words of a class."""
    said = [f"it is {rng.choice(CLASS_WORDS[label])} there" for _ in range(3)]
    return prose(placed(rng, filler(rng, count), *said))


def documents(rng: Random, labels: list[str], count: int) -> list[tuple[str, str]]:
    """Return (label, text) pairs, the classes in turn."""
    return [(label, document(rng, label)) for label in (labels * count)[:count]]


def imdb(seed: int, examples: int) -> dict[str, bytes]:
    """The official `aclImdb` folder: `train` and `test`, `pos` and `neg`, `ID_RATING.txt`."""
    files = {}
    for split in ("train", "test"):
        rng = drawing(seed, f"imdb/{split}")
        for i, (label, text) in enumerate(documents(rng, ["neg", "pos"], sizes(examples)[split])):
            rating = rng.choice((7, 8, 9, 10) if label == "pos" else (1, 2, 3, 4))
            text = text.replace(". ", ".<br /><br />", 1)
            files[f"imdb/aclImdb/{split}/{label}/{i // 2}_{rating}.txt"] = text.encode()
    return files


def yelp5(seed: int, examples: int) -> dict[str, bytes]:
    """The official `train.csv` and `test.csv`: quoted stars and text, no header."""
    files = {}
    for split in ("train", "test"):
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        pairs = documents(
            drawing(seed, f"yelp5/{split}"), list("12345"), max(5, sizes(examples)[split])
        )
        writer.writerows((label, said.replace(". ", r".\n", 1)) for label, said in pairs)
        files[f"yelp5/{split}.csv"] = text.getvalue().encode()
    return files


def arxiv_topics(seed: int, examples: int) -> dict[str, bytes]:
    """One folder per class with one text file per paper, as He et al. 2019 give them; no splits."""
    pairs = documents(drawing(seed, "arxiv-topics"), ARXIV_CLASSES, sum(sizes(examples).values()))
    return {
        f"arxiv-topics/{label}/{1000 + i}.{i:05d}.txt": text.encode()
        for i, (label, text) in enumerate(pairs)
    }


def patents(seed: int, examples: int) -> dict[str, bytes]:
    """JSON lines with `id`, `text` and `label`, one file per split: the paper names no format."""
    files = {}
    for split, count in sizes(examples).items():
        pairs = documents(drawing(seed, f"patents/{split}"), list("ABCDEFGH"), count)
        rows = [
            {"id": f"US-{split}-{i}", "text": text, "label": label}
            for i, (label, text) in enumerate(pairs)
        ]
        files[f"patents/{split}.jsonl"] = json_lines(rows)
    return files


def hyperpartisan(seed: int, examples: int) -> dict[str, bytes]:
    """Articles and their ground truth as two XML files, as the task's by-article set."""
    head = '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<articles>\n'
    articles, truth = [head], [head]
    pairs = documents(
        drawing(seed, "hyperpartisan"), ["true", "false"], sum(sizes(examples).values())
    )
    for i, (label, text) in enumerate(pairs, 1):
        title = quoteattr(" ".join(text.split()[:4]))
        articles.append(
            f'<article id="{i:07d}" published-at="2020-01-01" title={title}><p>{text}</p></article>\n'
        )
        truth.append(
            f'<article hyperpartisan="{label}" id="{i:07d}" labeled-by="article" '
            f'url="http://www.example.com/{i}"/>\n'
        )
    return {
        f"hyperpartisan/{name}-training-byarticle-20181122.xml": "".join(
            [*lines, "</articles>\n"]
        ).encode()
        for name, lines in (("articles", articles), ("ground-truth", truth))
    }


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
    rows: list[list[object]] = []
    for i in range(count):
        text = [sentence(rng), with_word(rng, PARAPHRASE[str(i % 2)])]
        rows.append([i % 2, 2 * (start + i), 2 * (start + i) + 1, *text])
    return rows


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
