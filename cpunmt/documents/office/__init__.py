"""Files of office programs: Office Open XML (ECMA-376, ISO/IEC 29500) and OpenDocument (ISO/IEC 26300)."""
