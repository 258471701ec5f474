"""What must not be translated, digits, and lines in capitals: layers around the translation of a sentence."""
