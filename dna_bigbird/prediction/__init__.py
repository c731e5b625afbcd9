"""From FASTA and VCF to scores, with the names and options of the command line.

With `output=None` a function returns its arrays; with `output` it writes a file and returns a short
summary.

| what | where |
|---|---|
| the functions and their options | predict, embed, mutagenesis, marginalise, attribute, motifs, score_variants |
| what they do, with torch | window_run, predict_run, embedder, mutagenesis, attribution/, variants/run |
| DNA to windows | windows/: inputs, tiling |
| windows to probabilities or vectors | predictor, embedder; runner, engine |
| variants | variants/: sites, effects, scorers |
| motifs in effects of bases | motif_patterns |
| rows of an interrupted run, progress | partial_results, partial_results_file |
| files | writers/, variants/writers; mutagenesis |
| what is returned | results |
"""
