"""Streams that end with an error."""


def broken(items, error):
    """Yields the items, then raises an error."""
    yield from items
    raise error


def taken(results):
    """Returns (the results, the final error or None)."""
    found = []
    try:
        for result in results:
            found.append(result)
    except Exception as error:
        return found, error
    return found, None
