"""Packages of argos-translate, which LibreTranslate uses."""
