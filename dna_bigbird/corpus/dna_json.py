"""Our SentencePiece DNA vocabulary as a `tokenizer.json` that cuts DNA into the same ids.

SentencePiece joins the two neighbours that make the earliest piece of the vocabulary, leftmost
first. `tokenizers` joins the pair that is first in a list, leftmost first. So the list has every
pair that makes a piece, in the order of the pieces. A strand-symmetric vocabulary has scores instead,
and both libraries take the segmentation with the highest sum.
"""

import tokenizers
from tokenizers import decoders, models, normalizers, processors

from dna_bigbird.corpus.tokenizer import FIRST_PIECE_ID, SPECIAL_PIECES, DnaTokenizer
from dna_bigbird.genome.alphabet import BASES, IUPAC_AMBIGUOUS


def tokenizer_json(tokenizer: DnaTokenizer) -> bytes:
    """Return the `tokenizer.json`.

    It takes DNA in either case; IUPAC codes become N and U becomes T, as `genome.normalise` does.
    """
    cls, sep = (SPECIAL_PIECES[i] for i in (tokenizer.cls_id, tokenizer.sep_id))
    written = tokenizers.Tokenizer(_model(tokenizer))
    to_n = IUPAC_AMBIGUOUS + IUPAC_AMBIGUOUS.lower()
    rules = [(base.lower(), base) for base in BASES]
    rules += [(tokenizers.Regex(f"[{to_n}]"), "N"), (tokenizers.Regex("[Uu]"), "T")]
    written.normalizer = normalizers.Sequence([normalizers.Replace(*rule) for rule in rules])
    written.decoder = decoders.Fuse()
    written.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, tokenizer.cls_id), (sep, tokenizer.sep_id)],
    )
    written.add_special_tokens(
        [tokenizers.AddedToken(piece, normalized=False) for piece in SPECIAL_PIECES]
    )
    return written.to_str(pretty=True).encode()


def _model(tokenizer: DnaTokenizer) -> models.Model:
    pieces = tokenizer.pieces
    if tokenizer.joins_pairs:
        numbers = {piece: i for i, piece in enumerate(pieces)}
        unknown = SPECIAL_PIECES[tokenizer.unk_id]
        return models.BPE(numbers, _joins(pieces[FIRST_PIECE_ID:]), unk_token=unknown)
    scores = [0.0] * FIRST_PIECE_ID + tokenizer.scores.tolist()
    return models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=tokenizer.unk_id)


def _joins(pieces: list[str]) -> list[tuple[str, str]]:
    known = set(pieces)
    return [
        (piece[:cut], piece[cut:])
        for piece in pieces
        for cut in range(1, len(piece))
        if piece[:cut] in known and piece[cut:] in known
    ]
