"""PyPI's googletrans, whose address is in its module of addresses."""

import asyncio
import json
import sys

import googletrans.urls

(url,) = sys.argv[1:]
googletrans.urls.TRANSLATE = f"{url}/google/translate_a/single"


async def main():
    async with googletrans.Translator(http2=False, raise_exception=True) as client:
        many = await client.translate(["One man.", "Two dogs & a <cat>."], src="en", dest="de")
        guessed = await client.translate("Two dogs are playing in the snow.", dest="german")
        detected = await client.detect("Zwei Hunde spielen im Schnee.")
        try:
            refused = await client.translate("One man.", dest="ja")
        except Exception as error:
            refused = str(error)
    return {
        "many": [one.text for one in many],
        "guessed": [guessed.text, guessed.src],
        "detected": [detected.lang, detected.confidence > 0.9],
        "refused": refused,
    }


print(json.dumps(asyncio.run(main())))
