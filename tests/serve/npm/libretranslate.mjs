// npm's libretranslate.
import { translate } from "libretranslate";

const [apiurl] = process.argv.slice(2);
const found = {
  text: await translate({ query: "One man.", source: "en", target: "de", apiurl }),
  guessed: await translate({ query: "Two dogs are playing in the snow.", target: "de", apiurl, apiKey: "any" }),
  html: await translate({ query: "<b>Two</b> dogs &amp; a cat.", source: "en", target: "de", format: "html", apiurl }),
};
found.refused = await translate({ query: "One man.", target: "ja", apiurl }).catch((error) => error.message);
console.log(JSON.stringify(found));
