// npm's libretranslate-ts.
import { libreTranslate } from "libretranslate-ts";

const [url] = process.argv.slice(2);
libreTranslate.setApiEndpoint(url);
libreTranslate.setApiKey("any");
const found = {
  one: await libreTranslate.translate("One man.", "en", "de"),
  several: (await libreTranslate.translate("One man.", "en", "de", 2)).alternatives.length,
  detected: await libreTranslate.detect("Two dogs are playing in the snow."),
  languages: (await libreTranslate.listLanguages()).map(({ code }) => code),
  refused: (await libreTranslate.translate("One man.", "en", "ja")).error,
};
console.log(JSON.stringify(found));
