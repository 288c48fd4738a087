"""What makes parts of memsync: documents from help texts, the embedder from texts."""
