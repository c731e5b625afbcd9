"""A SentencePiece file from a list of pieces, for vocabularies that SentencePiece does not learn."""

from collections.abc import Mapping

PAD_ID, UNK_ID, CLS_ID, SEP_ID, MASK_ID = range(5)
SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FIRST_PIECE_ID = len(SPECIAL_PIECES)


def vocabulary_file(scores: Mapping[str, float], *, is_unigram: bool = False) -> bytes:
    """Return a SentencePiece model of the special entries and these pieces.

    Args:
        scores: The score of every piece, in the order of their ids.
        is_unigram: Take the segmentation with the highest sum of scores, instead of joining the pair
            with the highest score first (BPE).
    """
    from sentencepiece import sentencepiece_model_pb2 as protocol

    model = protocol.ModelProto()
    types = protocol.ModelProto.SentencePiece
    for i, piece in enumerate(SPECIAL_PIECES):
        piece_type = types.UNKNOWN if i == UNK_ID else types.CONTROL
        model.pieces.add(piece=piece, score=0, type=piece_type)
    for piece, score in scores.items():
        model.pieces.add(piece=piece, score=score)
    trainer = model.trainer_spec
    trainer.model_type = trainer.UNIGRAM if is_unigram else trainer.BPE
    trainer.vocab_size = len(model.pieces)
    trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = PAD_ID, UNK_ID, -1, -1
    trainer.pad_piece, trainer.unk_piece = SPECIAL_PIECES[PAD_ID], SPECIAL_PIECES[UNK_ID]
    trainer.control_symbols.extend(SPECIAL_PIECES[CLS_ID:])
    trainer.split_by_whitespace = False
    normalizer = model.normalizer_spec
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = False
    normalizer.remove_extra_whitespaces = False
    return model.SerializeToString(deterministic=True)
