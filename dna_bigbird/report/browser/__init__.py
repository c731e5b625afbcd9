"""One HTML page with a genome browser (igv.js) and its data: `dna-bigbird view`."""
