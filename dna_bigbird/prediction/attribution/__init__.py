"""How much each base adds to the log odds of a label: gradients at the token embeddings, added up over a
window.

| what | where |
|---|---|
| a classifier as a function of its embeddings, and their gradients; exact effects of counted k-mers | embedding_gradients |
| windows of DNA to effects of bases, on both strands | attributor |
| the windows of a source to arrays or files | run |
"""
