// npm's deepl-node: translations, languages, usage, glossaries, and what is refused.
import { readFileSync } from "node:fs";
import * as deepl from "deepl-node";

const [serverUrl] = process.argv.slice(2);
const client = new deepl.DeepLClient("node-key", { serverUrl, maxRetries: 0 });
const name = async (promise) => promise.then(() => "done").catch((error) => error.constructor.name);

const one = await client.translateText("One man.", null, "de");
const many = await client.translateText(["One man.", "<b>Two</b> dogs &amp; a cat."], "en", "de", { tagHandling: "html" });
const xml = await client.translateText('One <x id="7">man</x> walks.', "en", "de", { tagHandling: "xml", ignoreTags: ["x"] });
const glossary = await client.createGlossary("mine", "en", "de", new deepl.GlossaryEntries({ entries: { dogs: "Katzen" } }));
const entries = await client.getGlossaryEntries(glossary);
const of = (entries) => new deepl.GlossaryEntries({ entries });
const both = await client.createMultilingualGlossary("both", [
  { sourceLangCode: "en", targetLangCode: "de", entries: of({ dogs: "Katzen" }) },
  { sourceLangCode: "de", targetLangCode: "en", entries: of({ Hunde: "cats" }) },
]);
const found = {
  one: [one.text, one.detectedSourceLang, one.billedCharacters],
  many: many.map((result) => result.text),
  xml: xml.text,
  source: (await client.getSourceLanguages()).map((language) => language.code),
  target: (await client.getTargetLanguages()).map((language) => [language.code, language.supportsFormality]),
  pairs: (await client.getGlossaryLanguagePairs()).length,
  glossary: [glossary.name, glossary.entryCount, entries.entries()],
  listed: (await client.listGlossaries()).map((each) => each.glossaryId === glossary.glossaryId),
  withGlossary: (await client.translateText("Two dogs.", "en", "de", { glossary })).text,
  usage: (await client.getUsage()).character.count,
  formality: await name(client.translateText("One man.", "en", "de", { formality: "more" })),
  broken: await name(client.translateText("<a>One man.", "en", "de", { tagHandling: "xml" })),
};
found.both = both.dictionaries.map((one) => [one.sourceLangCode, one.targetLangCode, one.entryCount]);
const told = await client.getMultilingualGlossaryDictionaryEntries(both, "de", "en");
found.entries = told.entries.entries();
found.withBoth = (await client.translateText("Zwei Hunde.", "de", "en-GB", { glossary: both })).text;
const document = await client.translateDocument(Buffer.from("Two dogs."), "translated.txt", null, "de", { filename: "a.txt" });
found.document = [document.status, document.billedCharacters, readFileSync("translated.txt", "utf8")];
await client.deleteMultilingualGlossary(both);
await client.deleteGlossary(glossary);
found.gone = await name(client.getGlossary(glossary.glossaryId));
console.log(JSON.stringify(found));
