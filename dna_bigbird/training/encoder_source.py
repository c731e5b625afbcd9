"""What a fine-tuning starts from: the encoder of a bundle, or a fresh one on a vocabulary."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from operator import attrgetter
from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import bundled_encoder
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.core.errors import InputError, checked_settings, note
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.corpus.tokenizer_files import Tokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder_changes import SMALL, EncoderChanges
from dna_bigbird.training.processes import is_first_on_node

BASES = "bases"
"""What `--tokenizer` is for one token per base."""
ENDS = 2
"""[CLS] and [SEP]."""


@dataclass(frozen=True)
class EncoderSource:
    """The encoder and the tokenizer that a fine-tuning begins with."""

    encoder: EncoderConfig
    tokenizer: Tokenizer
    bundle: Bundle | None = None
    """The bundle whose weights are taken; None: they are drawn fresh."""
    semi_synthetic: bool = False
    seen_regions: list[SeenRegions] | None = field(default_factory=list)
    """What the weights were trained on; None is unknown."""
    inputs: dict[str, str] = field(default_factory=dict)
    """Checksums of files that decide the result, in addition to the weights."""
    fits_windows: bool = False
    """Whether the longest sequence is that of the set."""
    may_grow: bool = False
    """Whether the longest sequence is that of the set if that is longer: no table of positions, a token per base."""

    def for_windows(self, window_bp: int) -> "EncoderSource":
        """Return it for windows of so many base pairs; InputError if blocks are longer."""
        tokens, trained = window_bp + ENDS, self.encoder.max_tokens
        if not self.fits_windows and not (self.may_grow and tokens > trained):
            return self
        if self.may_grow and is_first_on_node():
            note(f"windows of {tokens:,} tokens; the encoder was pretrained on at most {trained:,}")
        with checked_settings():
            return replace(self, encoder=replace(self.encoder, max_tokens=tokens))


def open_source(
    pretrained: Path | str | Bundle | None,
    tokenizer: Path | None,
    changes: EncoderChanges,
    *,
    from_scratch: bool,
) -> EncoderSource:
    """Return what a fine-tuning starts from, or raise InputError where the options contradict."""
    # `pretrained`: None is the bundled encoder, unless there is a `tokenizer`, 'bases' or a
    # SentencePiece model: a fresh encoder on this vocabulary.
    if tokenizer is None:
        source = _of_bundle(load_encoder(pretrained), changes, from_scratch=from_scratch)
        if pretrained is None:  # it was pretrained without
            source = replace(source, encoder=replace(source.encoder, dropout=SMALL.dropout))
        return source
    if pretrained is not None:
        folder = pretrained.folder if isinstance(pretrained, Bundle) else pretrained
        raise InputError(
            f"--tokenizer {tokenizer} with --pretrained {folder}: that bundle has a tokenizer of its "
            "own; leave one of the two out"
        )
    vocabulary = read_vocabulary(tokenizer)
    with checked_settings():
        encoder = changes.applied_to(replace(SMALL, vocab_size=vocabulary.vocab_size))
    checksums = {name: sha256(content).hexdigest() for name, content in vocabulary.files.items()}
    fits = changes.max_tokens is None
    return EncoderSource(encoder, vocabulary, inputs=checksums, fits_windows=fits)


def load_encoder(pretrained: Path | str | Bundle | None) -> Bundle:
    """Return the bundle whose encoder is fine-tuned: a single model of DNA, or the bundled one."""
    source = bundled_encoder() if pretrained is None else pretrained
    bundle = source if isinstance(source, Bundle) else load_bundle(source)
    bundle.check_reads_dna()
    bundle.check_single("fine-tuning")
    return bundle


def read_vocabulary(tokenizer: Path) -> DnaTokenizer:
    """Return a vocabulary of DNA, of single bases for 'bases'."""
    if str(tokenizer) == BASES:
        return DnaTokenizer.from_bytes(train_tokenizer((), TokenizerConfig(algorithm=BASES)))
    return DnaTokenizer.from_file(tokenizer)


def _of_bundle(bundle: Bundle, changes: EncoderChanges, *, from_scratch: bool) -> EncoderSource:
    own = bundle.config.encoder
    if not from_scratch and (others := changes.other_weights(own)):
        name = others[0]
        raise InputError(
            f"--model.{name} {changes.values[name]}: the weights of {bundle.folder} were trained with "
            f"{name} {attrgetter(name)(own)}; give --from_scratch true for fresh weights, or leave it out"
        )
    with checked_settings():
        encoder = changes.applied_to(own)
    of_bases = int(bundle.tokenizer.piece_bp.max()) == 1
    return EncoderSource(
        encoder,
        bundle.tokenizer,
        None if from_scratch else bundle,
        bundle.config.semi_synthetic,
        [] if from_scratch else bundle.config.regions_read,
        may_grow=own.reads_any_length and of_bases and changes.max_tokens is None,
    )


def note_source(source: EncoderSource, *, is_bundled: bool) -> None:
    """Name the encoder if none was given, and what it has read."""
    if source.bundle is None:
        return
    if is_bundled:
        note("no --pretrained given: fine-tuning the bundled encoder")
    for record in source.seen_regions or ():
        note(f"the encoder has read {record.sentence()}")
