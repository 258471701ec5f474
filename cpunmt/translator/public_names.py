"""Names of inherited methods in Python's messages."""

from types import FunctionType


def name_methods(public: type) -> None:
    """Renames inherited methods, so that Python's messages name the class that users know.

    "Translator.__init__() missing 1 required positional argument", for example.
    """
    for base in public.__mro__[:-1]:
        for name, function in vars(base).items():
            if isinstance(function, FunctionType):
                shared = "document_method" in function.__module__  # with Pivot, so they name no class
                function.__qualname__ = name if shared else f"{public.__name__}.{name}"
