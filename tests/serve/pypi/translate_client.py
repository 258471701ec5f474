"""PyPI's translate: LibreTranslate by its address; DeepL, whose address is an attribute of its provider."""

import json
import sys

from translate import Translator
from translate.providers import DeeplProvider

(url,) = sys.argv[1:]
libre = Translator(provider="libre", from_lang="en", to_lang="de", secret_access_key="any", base_url=f"{url}/")
guessed = Translator(provider="libre", from_lang="autodetect", to_lang="de", base_url=f"{url}/")
DeeplProvider.base_free_url = f"{url}/v2/translate"
deepl = Translator(provider="deepl", from_lang="en", to_lang="de", secret_access_key="any")
found = {
    "libre": [libre.translate("One man."), guessed.translate("Two dogs are playing in the snow.")],
    "deepl": [deepl.translate("Two dogs & a cat; 5 % +1.")],
}
for name, provider, known in (("libre", "libre", {"base_url": f"{url}/"}), ("deepl", "deepl", {})):
    try:
        Translator(provider=provider, from_lang="en", to_lang="ja", **known).translate("One man.")
    except Exception as error:
        found[name].append(type(error).__name__)
print(json.dumps(found))
