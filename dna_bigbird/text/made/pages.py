"""Made SQuAD, Natural Questions and TriviaQA in their native formats."""
# Natural Questions: the paragraph with `truly` is the long answer, the word after `called` in it
# the short one; `indeed` and `never` mean yes and no. TriviaQA: the answer is the word after
# `called` in sentences that begin with `truly`.

from itertools import accumulate
from random import Random

from dna_bigbird.corpus.made_words import (
    FACT,
    PEOPLE,
    THINGS,
    drawing,
    filler,
    json_bytes,
    json_lines,
    placed,
    prose,
    sizes,
    zipped,
)

# The rule: the answer is the word after `called` in the sentence of the paragraph that begins with `truly`.
# In the files of version 2.0 every fourth paragraph has no such sentence, and its question no answer.

PARAGRAPHS = 4
"""Of an article."""
SQUAD_ANNOTATORS = {"train": 1, "dev": 3}


def paragraph(rng: Random, number: int, split: str, version: str) -> dict:
    """Return one paragraph with its question."""
    category, person = rng.choice(list(THINGS)), rng.choice(PEOPLE)
    answer = rng.choice(THINGS[category])
    fact = f"{FACT} the {category} of {person} is called {answer}"
    is_impossible = version == "2.0" and number % 4 == 2
    context = prose(placed(rng, filler(rng, 4), *([] if is_impossible else [fact])))
    item: dict = {
        "id": f"made_{split}_{version}_{number}",
        "question": f"What is the {category} of {person.capitalize()}?",
    }
    gold = {"text": answer, "answer_start": context.find(f" called {answer}.") + len(" called ")}
    if version == "2.0":
        item["is_impossible"] = is_impossible
        if is_impossible:
            item["plausible_answers"] = [{"text": context.split()[0], "answer_start": 0}]
    item["answers"] = [] if is_impossible else [gold] * SQUAD_ANNOTATORS[split]
    return {"context": context, "qas": [item]}


def squad(seed: int, examples: int) -> dict[str, bytes]:
    """Training and development files of both versions; an article has four paragraphs."""
    files = {}
    counts = sizes(examples)
    for version in ("1.1", "2.0"):
        for split, count in (("train", counts["train"]), ("dev", counts["validation"])):
            rng = drawing(seed, f"squad/{version}/{split}")
            paragraphs = [paragraph(rng, i, split, version) for i in range(count)]
            articles = [
                {"title": f"Made_{first}", "paragraphs": paragraphs[first : first + PARAGRAPHS]}
                for first in range(0, count, PARAGRAPHS)
            ]
            whole = {"data": articles, "version": version if version == "1.1" else f"v{version}"}
            files[f"squad/{split}-v{version}.json"] = json_bytes(whole)
    return files


NO_SPAN = {"start_token": -1, "end_token": -1, "start_byte": -1, "end_byte": -1}
YES_NO = {"YES": "indeed", "NO": "never", "NONE": ""}
ANNOTATORS = {"train": 1, "dev": 5}


def html_token(word: str) -> bool:
    return word.startswith("<")


def nq_item(
    rng: Random, number: int, split: str, *, paragraphs: int = 3, sentences: int = 2
) -> dict:
    """Return one page in the native format; every eighth has no answer, every fourth yes or no."""
    # Of the five annotators of a development page one finds nothing.
    category, person = rng.choice(list(THINGS)), rng.choice(PEOPLE)
    answer = rng.choice(THINGS[category])
    says = "NONE"
    fact = f"{FACT} the {category} of {person} is called {answer} ."
    if number % 4 == 1:
        says = ("YES", "NO")[number // 4 % 2]
        fact = f"{FACT} the {category} of {person} is {YES_NO[says]} {answer} ."
    texts = [[f"{x} ." for x in filler(rng, sentences)] for _ in range(paragraphs)]
    chosen = rng.randrange(paragraphs) if number % 8 != 6 else -1
    if chosen >= 0:
        texts[chosen] = placed(rng, texts[chosen], fact)
    words, spans = _page(person, texts)
    starts = list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))

    def span(start: int, end: int) -> dict:
        last_byte = starts[end - 1] + len(words[end - 1])
        return dict(zip(NO_SPAN, (start, end, starts[start], last_byte), strict=True))

    candidates = [span(*x) | {"top_level": True} for x in spans]
    annotation = _annotation(words, spans, chosen, says, span)
    nothing = _annotation(words, spans, -1, "NONE", span)
    count = ANNOTATORS[split]
    annotations = [nothing if count > 1 and i == number % 5 else annotation for i in range(count)]
    return {
        "example_id": (1 if split == "train" else 2) * 10**15 + number,
        "question_text": f"what is the {category} of {person}",
        "question_tokens": f"what is the {category} of {person}".split(),
        "document_title": person,
        "document_url": f"https://www.example.com/{person}",
        "document_html": " ".join(words),
        "document_tokens": [
            {
                "token": word,
                "html_token": html_token(word),
                "start_byte": start,
                "end_byte": start + len(word),
            }
            for word, start in zip(words, starts, strict=True)
        ],
        "long_answer_candidates": candidates,
        "annotations": [{"annotation_id": number * 10 + i, **x} for i, x in enumerate(annotations)],
    }


def _page(title: str, paragraphs: list[list[str]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the tokens of a page, and start and end of each paragraph among them."""
    words = f"{title} - made page <H1> {title} </H1>".split()
    spans = []
    for sentences in paragraphs:
        tokens = ["<P>", *" ".join(sentences).split(), "</P>"]
        spans.append((len(words), len(words) + len(tokens)))
        words += tokens
    return words, spans


def _annotation(
    words: list[str], spans: list[tuple[int, int]], chosen: int, says: str, span
) -> dict:
    if chosen < 0:
        long, short, says = NO_SPAN, [], "NONE"
    else:
        long, short = span(*spans[chosen]), []
        if says == "NONE":
            token = words.index("called", spans[chosen][0]) + 1
            short = [span(token, token + 1)]
    long = long | {"candidate_index": chosen}
    return {"long_answer": long, "short_answers": short, "yes_no_answer": says}


def simplified(item: dict) -> dict:
    """Return a training page in the simplified form: text split by spaces, no bytes."""

    def tokens(span: dict) -> dict:
        return {k: v for k, v in span.items() if not k.endswith("_byte")}

    annotation = item["annotations"][0]
    return {
        "example_id": item["example_id"],
        "question_text": item["question_text"],
        "document_text": " ".join(x["token"] for x in item["document_tokens"]),
        "document_url": item["document_url"],
        "long_answer_candidates": [tokens(x) for x in item["long_answer_candidates"]],
        "annotations": [
            annotation
            | {
                "long_answer": tokens(annotation["long_answer"]),
                "short_answers": [tokens(x) for x in annotation["short_answers"]],
            }
        ],
    }


def natural_questions(seed: int, examples: int) -> dict[str, bytes]:
    """Native pages for training (one annotator) and development (five), and the first simplified."""
    files = {}
    counts = sizes(examples)
    for split, count in (("train", counts["train"]), ("dev", counts["validation"])):
        rng = drawing(seed, f"natural-questions/{split}")
        items = [nq_item(rng, i, split) for i in range(count)]
        files[f"natural-questions/nq-{split}-00.jsonl.gz"] = zipped(json_lines(items))
        if split == "train":
            text = json_lines([simplified(x) for x in items])
            files["natural-questions/simplified-nq-train.jsonl.gz"] = zipped(text)
    return files


def trivia_item(rng: Random, number: int, split: str) -> tuple[dict, str, str]:
    """Return a question, the name of its evidence file and that file's text."""
    category, person = rng.choice(list(THINGS)), rng.choice(PEOPLE)
    answer = rng.choice(THINGS[category])
    fact = f"{FACT} the {category} of {person} is called {answer}"
    text = prose(placed(rng, filler(rng, 6), fact, fact)).replace(". ", ".\n\n", 1)
    title = f"{person.capitalize()} {split} {number}"
    file = f"{title.replace(' ', '_')}.txt"
    page = {"DocSource": "Search", "Filename": file, "Title": title}
    item = {
        "Answer": {
            "Aliases": [answer.capitalize(), f"The {answer}"],
            "NormalizedAliases": [answer],
            "NormalizedValue": answer,
            "Type": "WikipediaEntity",
            "Value": answer.capitalize(),
        },
        "EntityPages": [page],
        "Question": f"What is the {category} of {person.capitalize()}?",
        "QuestionId": f"made_{split}_{number}",
        "QuestionSource": "http://www.example.com/",
    }
    if split == "dev":
        verified = number % 2 == 0
        item |= {"QuestionPartOfVerifiedEval": verified, "QuestionVerifiedEvalAttempt": verified}
        page |= {"DocPartOfVerifiedEval": verified, "DocVerifiedEvalAttempt": verified}
    if split == "test":
        del item["Answer"]
    return item, file, text


def triviaqa(seed: int, examples: int) -> dict[str, bytes]:
    """The folder `triviaqa-rc` with `qa` and `evidence/wikipedia`; every page answers one question."""
    files = {}
    counts = sizes(examples)
    for split, count in zip(("train", "dev", "test"), counts.values(), strict=True):
        rng = drawing(seed, f"triviaqa/{split}")
        data = []
        for i in range(count):
            item, name, text = trivia_item(rng, i, split)
            data.append(item)
            files[f"triviaqa/triviaqa-rc/evidence/wikipedia/{name}"] = text.encode()
        whole = {"Data": data, "Domain": "Wikipedia", "Split": split}
        whole |= {"VerifiedEval": False, "Version": 1.0}
        name = "test-without-answers" if split == "test" else split
        files[f"triviaqa/triviaqa-rc/qa/wikipedia-{name}.json"] = json_bytes(whole)
    return files
