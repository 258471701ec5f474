"""HTML: its text is translated, every other byte stays; tags within a sentence follow their words."""
