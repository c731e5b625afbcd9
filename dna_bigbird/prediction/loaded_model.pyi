"""Signatures of `LoadedModel`, for type checkers: each method has the arguments of its function."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.info import Description
from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.paths import (
    GenomeFile,
    InputFile,
    InputPath,
    OutputFile,
    OutputFolder,
    StreamFile,
)
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.core.settings import Count, Positive, ShareBelowOne
from dna_bigbird.core.shared_options import (
    BothStrands,
    Coordinates,
    CoordinatesName,
    FastaFile,
    Labels,
    ModelOutput,
    ModelWindow,
    ProcessThreads,
    Progress,
    Resume,
    Sequences,
    SetGenome,
    Stride,
    TrainedBundle,
)
from dna_bigbird.corpus.tokenizer_files import Tokenizer
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.kmer_config import KmersConfig
from dna_bigbird.models.lora_config import LoraConfig
from dna_bigbird.prediction.compute import ComputeOptions
from dna_bigbird.prediction.results import (
    Attributions,
    Effect,
    Embeddings,
    Mutagenesis,
    Pooling,
    Predictions,
    VariantScores,
    VariantSummary,
    VectorFormat,
    WrittenAttributions,
    WrittenPredictions,
    WrittenVectors,
    ZeroShotScores,
)
from dna_bigbird.prediction.writers.target import Format
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig

def method_of(
    function: Callable[..., Any],
    model: str = "model",
    *,
    without: Sequence[str] = (),
    single: bool = False,
) -> Callable[..., Any]: ...

class LoadedModel:
    bundles: list[Bundle]
    def __init__(self, bundles: Sequence[Bundle]) -> None: ...
    def predict(
        self,
        fasta: FastaFile = None,
        bed: InputFile | None = None,
        sequences: Sequences = None,
        *,
        output: StreamFile | None = None,
        format: Format | None = None,
        labels: Labels = None,
        window: ModelWindow = None,
        stride: Stride = None,
        strand: Literal["both", "forward", "interval"] = "both",
        coordinates: Coordinates = None,
        span: Literal["window", "bin", "bins"] = "window",
        assembly: CoordinatesName = "unknown",
        resume: Resume = False,
        progress: Progress = False,
        **compute: ComputeOptions,
    ) -> Predictions | WrittenPredictions: ...
    def embed(
        self,
        fasta: FastaFile = None,
        bed: InputFile | None = None,
        sequences: Sequences = None,
        *,
        output: OutputFile | None = None,
        format: VectorFormat | None = None,
        pooling: Pooling = "mean",
        layer: int = -1,
        window: Positive | None = None,
        stride: Stride = None,
        strand: Literal["both", "forward"] | None = None,
        assembly: str = "unknown",
        resume: Resume = False,
        progress: Progress = False,
        **compute: ComputeOptions,
    ) -> Embeddings | WrittenVectors: ...
    def score_variants(
        self,
        vcf: InputFile,
        fasta: GenomeFile,
        output: StreamFile | None = None,
        format: Literal["tsv", "csv", "vcf"] | None = None,
        tsv: OutputFile | None = None,
        labels: Labels = None,
        window: int | None = None,
        strand: BothStrands = "both",
        ref_mismatch: Literal["error", "skip"] = "error",
        probabilities: bool = False,
        score: Literal["labels", "embedding", "likelihood"] = "labels",
        shifts: Positive = 1,
        shift_step: Positive = 16,
        resume: Resume = False,
        progress: Progress = False,
        **compute: ComputeOptions,
    ) -> VariantScores | ZeroShotScores | VariantSummary: ...
    def mutagenesis(
        self,
        fasta: GenomeFile,
        region: str | None = None,
        output: StreamFile | None = None,
        labels: Labels = None,
        effect: Effect = "log_odds",
        window: int | None = None,
        strand: BothStrands = "both",
        progress: Progress = False,
        picture: OutputFile | None = None,
        within: str | None = None,
        **compute: ComputeOptions,
    ) -> Mutagenesis: ...
    def attribute(
        self,
        fasta: FastaFile = None,
        bed: InputFile | None = None,
        sequences: Sequences = None,
        *,
        output: StreamFile | None = None,
        format: Literal["tsv", "csv", "bigwig", "hdf5"] | None = None,
        labels: Labels = None,
        method: Literal["constant", "gradient", "integrated"] = "constant",
        window: ModelWindow = None,
        stride: Stride = None,
        strand: Literal["both", "forward", "interval"] = "both",
        coordinates: Coordinates = None,
        assembly: CoordinatesName = "unknown",
        resume: Resume = False,
        progress: Progress = False,
        **compute: ComputeOptions,
    ) -> Attributions | WrittenAttributions: ...
    def finetune(
        self,
        genome: SetGenome | None = None,
        data: InputPath | None = None,
        output: TrainedBundle | None = None,
        checkpoints: OutputFolder | None = None,
        seed: int = 0,
        from_scratch: bool = False,
        model: EncoderChanges = EncoderChanges(),
        dropout: ShareBelowOne | None = None,
        freeze: Literal["encoder"] | None = None,
        lora: LoraConfig = LoraConfig(),
        head: LabelHeadConfig = LabelHeadConfig(),
        words: KmersConfig = KmersConfig(),
        training: LabelTrainConfig = LabelTrainConfig(),
        search: Count = 0,
        threads: ProcessThreads = 0,
        progress: Progress = True,
        scored: ModelOutput | None = None,
    ) -> TrainedModel: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def window(self) -> int | None: ...
    @property
    def task(self) -> str: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    def single(self, purpose: str) -> Bundle: ...
    def info(self) -> Description: ...
    def summary(self) -> str: ...

def load(model: ModelBundles | None = None) -> LoadedModel: ...
