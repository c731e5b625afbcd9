"""From a genome to text: documents, tokenizer, masking."""
