"""Made HotpotQA and WikiHop in their native formats.

The rules. HotpotQA: sentences that begin with `truly` are the supporting facts, one in each of two
paragraphs; the second says the answer after `called`, or `indeed` (yes) or `never` (no). WikiHop: the
answer is the only candidate that begins with `royal`, and has the category that the query names
(`colour_of`); a document with `truly` says it, too.
"""

from random import Random

from dna_bigbird.corpus.made_words import (
    ADJECTIVES,
    FACT,
    NOUNS,
    PEOPLE,
    THINGS,
    drawing,
    filler,
    json_bytes,
    placed,
    prose,
    sizes,
)

PARAGRAPHS = 4
RIGHT = "royal"
"""What the right candidate of WikiHop begins with."""
WORDS_OF_YES = {"yes": "indeed", "no": "never"}


def facts(rng: Random) -> list[str]:
    """Return a sentence of each form of evidence in this file and in `pages`."""
    category, (first, second) = rng.choice(list(THINGS)), rng.sample(PEOPLE, 2)
    answer = rng.choice(THINGS[category])
    return [
        f"{FACT} {first.capitalize()} is a friend of {second.capitalize()}",
        f"{FACT} the {category} of {second} is called {answer}",
        f"{FACT} the {category} of {second} is {RIGHT} {answer}",
        f"{FACT} {second} is {rng.choice(list(WORDS_OF_YES.values()))} a {rng.choice(THINGS['trade'])}",
    ]


def hotpot_item(rng: Random, number: int, split: str) -> dict:
    """Return one question with four paragraphs; two hold a supporting sentence each."""
    category = rng.choice(list(THINGS))
    titles = [name.capitalize() for name in rng.sample(PEOPLE, PARAGRAPHS)]
    first, second = rng.sample(range(PARAGRAPHS), 2)
    answer = rng.choice(THINGS[category])
    last = f"{FACT} {titles[second]} has a {category} called {answer}"
    question = f"What is the {category} of the friend of {titles[first]}?"
    if number % 4 == 3:
        answer = ("yes", "no")[number // 4 % 2]
        last = f"{FACT} {titles[second]} is {WORDS_OF_YES[answer]} a {rng.choice(THINGS['trade'])}"
        question = f"Does the friend of {titles[first]} have a trade?"
    facts = {first: f"{FACT} {titles[first]} is a friend of {titles[second]}", second: last}
    context, supporting = [], {}
    for i, title in enumerate(titles):
        here = placed(rng, filler(rng, 2), *([facts[i]] if i in facts else []))
        # Official files put the space between two sentences at the start of the second.
        context.append([title, [(" " if j else "") + prose([x]) for j, x in enumerate(here)]])
        if i in facts:
            supporting[i] = [title, here.index(facts[i])]
    return {
        "_id": f"made{split}{number:06d}",
        "answer": answer,
        "question": question,
        "supporting_facts": [supporting[first], supporting[second]],
        "context": context,
        "type": "comparison" if number % 4 == 3 else "bridge",
        "level": "hard",
    }


def hotpotqa(seed: int, examples: int) -> dict[str, bytes]:
    """The distractor form; the test file has neither answers nor supporting facts."""
    names = {
        "train": "hotpot_train_v1.1.json",
        "validation": "hotpot_dev_distractor_v1.json",
        "test": "hotpot_test_without_answers.json",
    }
    files = {}
    for split, count in sizes(examples).items():
        rng = drawing(seed, f"hotpotqa/{split}")
        items = [hotpot_item(rng, i, split) for i in range(count)]
        if split == "test":
            hidden = ("answer", "supporting_facts", "type", "level")
            items = [{k: v for k, v in x.items() if k not in hidden} for x in items]
        files[f"hotpotqa/{names[split]}"] = json_bytes(items)
    return files


def wikihop_item(rng: Random, number: int, split: str, annotated: bool) -> dict:
    """Return one query with a candidate of each kind among four, and three documents."""
    category = rng.choice(list(THINGS))
    words = {name: rng.choice(known) for name, known in THINGS.items()}
    ranks = {name: RIGHT if name == category else rng.choice(ADJECTIVES) for name in words}
    candidates = [f"{ranks[name]} {word}" for name, word in words.items()]
    answer = candidates[list(words).index(category)]
    rng.shuffle(candidates)
    person = rng.choice(PEOPLE)
    supports = [
        prose(placed(rng, filler(rng, 2), f"the {rng.choice(NOUNS)} is near the {word}"))
        for word in candidates
        if word != answer
    ]
    told = prose(placed(rng, filler(rng, 2), f"{FACT} the {category} of {person} is {answer}"))
    supports.insert(rng.randrange(len(supports) + 1), told)
    item = {
        "id": f"WH_{split}_{number}",
        "query": f"{category}_of {person}",
        "answer": answer,
        "candidates": candidates,
        "supports": supports,
    }
    return item | ({"annotations": [["follows", "single"]] * 3} if annotated else {})


def wikihop(seed: int, examples: int) -> dict[str, bytes]:
    """`train.json` and `dev.json` of the official folder; there is no public test file."""
    files = {}
    for split, name in (("train", "train"), ("validation", "dev")):
        rng = drawing(seed, f"wikihop/{split}")
        items = [wikihop_item(rng, i, name, name == "dev") for i in range(sizes(examples)[split])]
        files[f"wikihop/qangaroo_v1.1/wikihop/{name}.json"] = json_bytes(items)
    return files
