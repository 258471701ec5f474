"""PyPI's libretranslate-aio, without and with asyncio."""

import asyncio
import json
import sys

from libretranslate_aio import AsyncLibreTranslate, LibreTranslate
from libretranslate_aio.exceptions import LibreTranslateError

(url,) = sys.argv[1:]


async def at_once():
    async with AsyncLibreTranslate(url) as client:
        made = await asyncio.gather(*(client.translate(text, "en", "de") for text in ("One man.", "Two dogs.")))
    return [one.translated_text for one in made]


with LibreTranslate(url, api_key="any") as client:
    several = client.translate(["<b>Two</b> dogs.", "Zwei Hunde."], "auto", "de", format="html")
    found = {
        "alternatives": len(client.translate("One man.", "en", "de", alternatives=2).alternatives),
        "several": several.translated_text,
        "detected": [one.language for one in several.detected_language],
        "detect": client.detect("Two dogs are playing in the snow.")[0].language,
        "languages": [one.code for one in client.languages()],
        "limit": client.frontend_settings().char_limit,
        "health": client.health(),
        "at_once": asyncio.run(at_once()),
    }
    with open("dogs.txt", "w", encoding="utf-8") as file:
        file.write("Two dogs.")
    found["file"] = client.translate_file("dogs.txt", "en", "de").translated_file_url.startswith(url)
    try:
        client.translate("One man.", "en", "ja")
    except LibreTranslateError as error:
        found["refused"] = str(error)
print(json.dumps(found))
