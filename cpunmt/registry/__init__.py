"""Getting a model: what is offered where, fetching it into the user's folder, and finding it there again."""
