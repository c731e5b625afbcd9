"""Whole splits of text sets as lists, for tests; the package reads them one example at a time."""

from types import SimpleNamespace

from dna_bigbird.text.data.classification import iter_classification
from dna_bigbird.text.data.natural_questions import iter_natural_questions
from dna_bigbird.text.data.summarization import iter_summaries
from dna_bigbird.text.data.triviaqa import iter_triviaqa


def read_classification(name, path, split, *, splits, gold=True, skip_empty=False):
    options = SimpleNamespace(set=name, splits=splits, skip_empty=skip_empty)
    counts = {}
    return list(iter_classification(options, path, split, counts, gold=gold)), counts


def read_natural_questions(path, split, **settings):
    return list(iter_natural_questions(path, split, **settings))


def read_summaries(name, path, split, *, gold=True, skip_empty=False):
    options = SimpleNamespace(set=name, skip_empty=skip_empty)
    counts = {}
    return list(iter_summaries(options, path, split, counts, gold=gold)), counts


def read_triviaqa(path, split, options, **settings):
    counts = {}
    return list(iter_triviaqa(path, split, counts, options, **settings)), counts
