"""How much each base adds to the log odds of a label: gradients at the word vectors, added up over a window.

| what | where |
|---|---|
| a classifier as a function of its word vectors, and their gradients | word_vectors |
| gradients with attention and norms held constant | constant_weights |
| the exact effects of counted words | counted_words |
| windows of DNA to effects of bases, on both strands | attributor |
| the windows of a source to arrays or files | run |
"""
