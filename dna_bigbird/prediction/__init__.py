"""From FASTA and VCF to scores, with the names and options of the command line.

With `output=None` a function returns its arrays; with `output` it writes a file and returns a short
summary.

| what | where |
|---|---|
| the functions and their options | predicting, embedding, mutating, attributing, variants/scoring |
| what they do, with torch | prediction_run, embedding_run, substitutions, attribution/, variants/run |
| DNA to windows | windows/: inputs, files, tiling |
| windows to probabilities or vectors | predictor, embedder; runner, engine |
| rows of an interrupted run, progress | spool, spool_file |
| files | writers/, variants/writers; mutating |
| what is returned | results |
"""
