"""Names of CTranslate2's module that cpunmt lacks, each with advice for the error message."""

ABSENT = {
    "set_random_seed": "give the option seed to the call: samples are the same then, whatever was drawn before",
    "set_log_level": "leave it out: nothing is logged, and problems are raised as CpunmtError, TypeError or ValueError",
    "get_log_level": "leave it out: nothing is logged",
    "Generator": "use a program for language models; a Translator has models with an encoder and a decoder",
    "Encoder": "use a program for encoders; a Translator has models with an encoder and a decoder",
    "StorageView": "hand over lists of pieces, or text; results are Python's own types and NumPy arrays",
    "models": "load translation models with Translator; models of speech and others are not run",
    "converters": "load the directory that a converter would be given with Translator, or pack it: cpunmt convert",
    "specs": "pack a directory of Marian or Hugging Face with cpunmt convert; nothing has to be specified",
}


def said_of(name: str) -> str:
    """Returns the message for a name that the module lacks."""
    advice = ABSENT.get(name)
    return f"cpunmt has no {name}; {advice}" if advice else f"module 'cpunmt' has no attribute {name!r}"
