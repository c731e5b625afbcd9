"""The commands of `dna-bigbird text`, in the order of their use."""

TEXT_COMMANDS = {
    "vocabulary": "learn a SentencePiece vocabulary from text, laid out as BigBird's",
    "pretrain": "pretrain BigBird on text with whole-word masking",
    "warm-start": "make a text model from a RoBERTa or BERT folder",
    "train-classifier": "fine-tune on IMDb, Yelp-5, Arxiv, Patents or Hyperpartisan",
    "train-glue": "fine-tune on a task of GLUE",
    "train-hotpotqa": "fine-tune on HotpotQA: answer and supporting facts",
    "train-nq": "fine-tune on Natural Questions: long and short answers",
    "train-triviaqa": "fine-tune on TriviaQA: noisy spans in documents",
    "train-wikihop": "fine-tune on WikiHop: a choice among candidates",
    "train-summarizer": "fine-tune a sparse encoder with a decoder on summaries",
    "evaluate": "score a fine-tuned model with the official metric, beside trivial baselines",
    "runs": "mean and standard deviation of the scores of several runs",
    "predict": "write predictions in the official format of the set",
    "documents": "turn any of the sets into plain documents, one JSON object a line",
    "made-data": "write small made-up sets in the native formats",
    "tables": "set measured scores beside the paper's tables",
}
"""`dna_bigbird.pipeline.text` has a function of the same name (dashes become underscores)."""
