"""Ways to write a number in English and in German, and sentences to put them in.

A line has the English forms and the German ones. The first of each is the usual one; the others are right, too. A
translation may continue after a form. `copied`: the digits are the same in both languages, so a bad copy of them can be
mended.
"""

from typing import NamedTuple


class Style(NamedTuple):
    """Ways to write a number: `forms` for each language, and whether its digits are copied."""

    forms: dict[str, list[str]]
    copied: bool


def _read(lines: str, copied: bool) -> list[Style]:
    found = []
    for line in lines.strip().split("\n"):
        english, german = ([form.strip() for form in side.split("|")] for side in line.split(" = "))
        found.append(Style({"en": english, "de": german}, copied))
    return found


STYLES = (
    _read(
        """
777 = 777
1998 = 1998
4711 = 4711
12345 = 12345 | 12.345
2,200 = 2.200 | 2200
13,289 = 13.289 | 13289
200,000 = 200.000 | 200000
2,200,112 = 2.200.112
290.4 = 290,4
44.57 = 44,57
13,289.40 = 13.289,40 | 13.289,4
1,234,567.89 = 1.234.567,89
0.125 = 0,125
12.75 = 12,75
8.81% = 8,81 % | 8,81%
365 = 365
$1,300 = 1.300 $ | 1.300 Dollar | $1.300 | 1300 Dollar
777X = 777X
290.4 million = 290,4 Millionen | 290,4 Mio
512 GB = 512 GB
3.75 billion = 3,75 Milliarden | 3,75 Mrd
""",
        True,
    )
    + _read(
        """
7 = 7
42 = 42
3.5 = 3,5
12 million | 12,000,000 = 12 Millionen | 12.000.000 | 12 Mio
1,200 million | 1.2 billion = 1,2 Milliarden | 1.200 Millionen | 1.200.000.000
2 dozen | 24 = 24 | 2 Dutzend | zwei Dutzend
40 thousand | 40,000 = 40.000 | 40 Tausend | 40 000
3 1/2 | 3.5 = 3,5 | 3 1/2 | dreieinhalb
1/4 | a quarter | one quarter = ein Viertel | 1/4 | 0,25
12/31/99 | December 31, 1999 | 31.12.99 = 31.12.99 | 31.12.1999 | 31. Dezember 1999
May 3, 1998 = 3. Mai 1998 | 03.05.1998
1e6 | 1,000,000 = 1.000.000 | 1e6 | eine Million
10^6 = 10^6 | 1.000.000
2.5 x 10^3 | 2,500 = 2.500 | 2,5 x 10^3
6 ft | 1.83 m = 1,83 m | 6 Fuß | 6 ft
130 mph | 210 km = 210 km/h | 209 km/h | 130 mph | 130 Meilen
100 miles | 160 km | 160 kilomet = 160 km | 160 Kilometer | 100 Meilen
542 pounds | 245 k = 245 Kilogramm | 245 kg | 542 Pfund
500 acres | 200 hectares = 200 Hektar | 500 Acres | 500 acres
100 °F | 38 °C = 38 °C | 100 °F
9 in the evening | 9 p.m. | 21:00 = 21 Uhr | 9 Uhr abends | 9 am Abend
5:30 p.m. | 17.30 | 17:30 = 17.30 Uhr | 17:30 | 5:30
9 a.m. = 9 Uhr | 9.00 Uhr
20:00 = 20 Uhr | 20.00 | 20:00
the 1990s | the 90s | 90s = die 90er | die 1990er | 1990ern | 90ern
the 18th century = das 18. Jahrhundert | 18. Jahrhundert
3rd = 3. | dritte
20 lakh | 2 million = 2 Millionen | 2.000.000 | 20 Lakh
5 crore | 50 million = 50 Millionen | 50.000.000 | 5 Crore
""",
        False,
    )
    + _read(
        """
3.11.2 = 3.11.2
Python 3.8 = Python 3.8
Version 2.4.1 = Version 2.4.1
2024-05-01 = 2024-05-01
commit 6ebd0e2 | 6ebd0e2 = Commit 6ebd0e2 | 6ebd0e2
+49 30 123456 = +49 30 123456
0800 123 4567 = 0800 123 4567
--depth=25 = --depth=25
max_size_2 = max_size_2
photo_12.webp = photo_12.webp
""",
        True,
    )
)

FRAMES = [
    tuple(side.strip() for side in line.split(" = "))
    for line in """
I see {} here. = Ich sehe hier {}.
He said {} to me. = Er sagte {} zu mir.
The answer is {}. = Die Antwort ist {}.
It was {} yesterday. = Es war gestern {}.
We need {} today. = Wir brauchen heute {}.
They write {} on the wall. = Sie schreiben {} an die Wand.
{} is right. = {} ist richtig.
Do you know {}? = Kennst du {}?
The man has {} in his hand. = Der Mann hat {} in seiner Hand.
She reads {} and smiles. = Sie liest {} und lächelt.
In this book there is {}, too. = In diesem Buch steht auch {}.
A woman is looking at {}. = Eine Frau sieht {} an.
""".strip().split("\n")
]
