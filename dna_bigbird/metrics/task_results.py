"""The result of one benchmark task, as its file task.json has it: docs/reference/bench.md lists the keys."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dna_bigbird.metrics import scores

TASK_FILE = "task.json"
PUBLISHED, LEAK_FREE = "published", "leak_free"
SUBSETS = (PUBLISHED, LEAK_FREE)
"""All test rows, as the suite publishes them; test rows that nothing was trained on. Variants and pairs have
no training rows, so their leak-free rows leave out only what the bundle was trained on."""
MODEL, RANDOM_WEIGHTS = "model", "random_weights"
OTHER_SCORES = ("likelihood", "absolute_likelihood", "embedding", "embedding_cosine", "probe")
"""Sources that score variants by the same model in another way; not baselines."""
LABELS, VARIANTS, PAIRS = PROTOCOLS = ("labels", "variants", "pairs")
"""What the rows of a task are; only tasks of labels train the model."""
READ_WITH_LABELS, READ_WITHOUT_LABELS = "read_with_labels", "read_without_labels"
"""Keys of `TaskResult.leaks`: rows left out because the bundle was trained on them, and rows that only its
pretraining has read, which stay. A key is absent where no such row was recognised and not all that the bundle has
read can be compared."""


@dataclass(frozen=True)
class Score(scores.Score):
    """The mean of a score over seeds, and its 95 % interval over test rows and seeds; None is not defined."""

    sd: float | None = None
    """Standard deviation over seeds; None for one."""
    by_seed: Sequence[float | None] = ()


@dataclass(frozen=True)
class SourceResult:
    """Scores of the model or of a baseline."""

    name: str
    """`model`, `random_weights`, `cnn`, `kmer`, `gc`, `length`, `majority`, or a way to score without training."""
    description: str
    scores: Mapping[str, Mapping[str, Score]]
    """By subset of the test rows, then by name of the score."""
    minus: Mapping[str, Score] = field(default_factory=dict)
    """Of a baseline: the model's published metric minus this one's, by subset, on the same draws."""
    strands: Mapping[str, float | None] = field(default_factory=dict)
    """`flip_rate`: share of test rows whose predicted class differs between the strands; `correlation`: of the
    scores of the two strands. Empty for a source that has no strand."""
    is_trained: bool = True


@dataclass(frozen=True)
class Published:
    """A published score, not run here."""

    model: str
    value: float
    source: str
    metric: str = ""
    """Name of the score, if it is not the task's."""


@dataclass(frozen=True)
class TaskResult:
    """Everything that task.json has about one task; no time, speed or path."""

    suite: str
    task: str
    about: str
    metric: str
    """Name of the published score."""
    protocol: str
    """`labels`, `variants` or `pairs`."""
    label_names: Sequence[str]
    assembly: str
    counts: Mapping[str, int]
    """Rows read, left out by reason, and in each split."""
    n: Mapping[str, int]
    """Test rows by subset."""
    leaks: Mapping[str, int]
    """Test rows left out of the leak-free score by reason, and rows that pretraining has read without labels."""
    sources: Sequence[SourceResult]
    published: Sequence[Published] = ()
    seeds: Sequence[int] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was run: method, model, training, block_bp, replicates."""
    notes: Sequence[str] = ()
    groups: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    """The model's published metric by group (a motif, a chromosome), then by subset; empty without groups."""

    @property
    def model(self) -> SourceResult:
        """The scores of the model."""
        return next(source for source in self.sources if source.name == MODEL)

    def to_json(self) -> dict[str, Any]:
        """Return what task.json has."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TaskResult":
        """Return the result that a file has."""
        sources = [
            SourceResult(
                **{
                    **source,
                    "scores": {
                        subset: {name: Score(**score) for name, score in by_name.items()}
                        for subset, by_name in source["scores"].items()
                    },
                    "minus": {x: Score(**score) for x, score in source["minus"].items()},
                }
            )
            for source in values["sources"]
        ]
        groups = {
            group: {subset: Score(**score) for subset, score in by_subset.items()}
            for group, by_subset in values.get("groups", {}).items()
        }
        published = [Published(**each) for each in values["published"]]
        return cls(**{**values, "sources": sources, "published": published, "groups": groups})
