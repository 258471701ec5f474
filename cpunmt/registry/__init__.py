"""Models from registries: lists them, fetches them into the user's folder, and finds them there."""
