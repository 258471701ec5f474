"""The documentation: pages, and the extensions that build a site from them."""
