"""A small vocabulary of text, laid out as BigBird's: special entries first, then learnt pieces."""

import functools
import io
import string

import sentencepiece

from dna_bigbird.corpus.text_tokenizer import TextTokenizer

TEXT = (
    "the a of and in to is was who what when where which river city king queen mountain film book "
    "song born died written founded capital author director member band north south east west old "
    "new first last great small red blue green house garden stone water fire light night day year "
    "people country language school player team game war treaty church castle bridge harbour paper "
    "method model result data learning graph network theory proof vector yes no good bad fine awful"
)
WORDS = TEXT.split()
SYMBOLS = ["</s>", "<s>", "[CLS]", "[SEP]", "[MASK]"]


@functools.cache
def tiny_text_tokenizer() -> TextTokenizer:
    """Return a SentencePiece vocabulary of 400 entries that knows all printable ASCII.

    pad 0, </s> 1, <s> 2, [CLS] 3, [SEP] 4, [MASK] 5, unknown 6.
    """
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 3 + [" ".join(WORDS)]),
        model_writer=written,
        model_type="bpe",
        vocab_size=400,
        normalization_rule_name="identity",
        required_chars=string.ascii_letters + string.digits + string.punctuation,
        pad_id=0,
        unk_id=len(SYMBOLS) + 1,
        bos_id=-1,
        eos_id=-1,
        pad_piece="<pad>",
        unk_piece="<unk>",
        user_defined_symbols=SYMBOLS,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    return TextTokenizer(written.getvalue(), "spiece.model", name="tiny vocabulary")
