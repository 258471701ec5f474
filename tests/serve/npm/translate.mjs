// npm's translate: LibreTranslate by its url; DeepL, whose address it does not let be changed, by its engine's host.
import { Translate } from "translate";

const [url] = process.argv.slice(2);
const libre = Translate({ engine: "libre", url: `${url}/translate`, from: "en", key: "any" });
const found = { libre: [await libre("One man.", "de"), await libre("Two dogs & a <cat>.", { from: "english", to: "german" })] };
found.refused = await libre("One man.", "ja").catch((error) => error.message);

const { fetch } = globalThis;
globalThis.fetch = (address, options) => fetch(address.replace("https://api.deepl.com", url), options);
const deepl = Translate({ engine: "deepl", key: "any", from: "en" });
found.deepl = [await deepl("Two dogs & a cat; 5 % +1.", "de"), await deepl("Zwei Hunde.", { from: "de", to: "en" })];
found.status = await deepl("One man.", "ja").catch((error) => error.message);
console.log(JSON.stringify(found));
