"""`python -m dna_bigbird` is `dna-bigbird`."""

from dna_bigbird.cli.main import main

main()
