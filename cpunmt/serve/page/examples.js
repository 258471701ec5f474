// Sentences to try, while the field is empty.

import { $, AUTO, element, known, now } from "./state.js";

const MOST = 3;
const SENTENCES = {
  en: ["Where is the nearest train station?", "Two dogs are playing in the snow.", "Could we meet on Friday instead?"],
  de: ["Wo ist der nächste Bahnhof?", "Zwei Hunde spielen im Schnee.", "Können wir uns lieber am Freitag treffen?"],
  fr: ["Où est la gare la plus proche ?", "Deux chiens jouent dans la neige."],
  es: ["¿Dónde está la estación más cercana?", "Dos perros juegan en la nieve."],
  it: ["Dov'è la stazione più vicina?", "Due cani giocano nella neve."],
  pt: ["Onde fica a estação mais próxima?", "Dois cães brincam na neve."],
  nl: ["Waar is het dichtstbijzijnde station?", "Twee honden spelen in de sneeuw."],
  pl: ["Gdzie jest najbliższy dworzec?", "Dwa psy bawią się na śniegu."],
  cs: ["Kde je nejbližší nádraží?", "Dva psi si hrají ve sněhu."],
  uk: ["Де найближчий вокзал?", "Два собаки граються в снігу."],
  ru: ["Где ближайший вокзал?", "Две собаки играют в снегу."],
};

// Of the chosen language, or, if it is to be detected, of several: the sentences of English first.
function sentences() {
  const from = $("from").value;
  if (from !== AUTO) return SENTENCES[from.split("-")[0]] ?? [];
  const sources = known.languages.filter((one) => one.targets.includes($("to").value)).map((one) => one.code.split("-")[0]);
  const lists = Object.keys(SENTENCES).filter((code) => sources.includes(code)).map((code) => SENTENCES[code]);
  return lists.length > 1 ? lists.map((list) => list[0]) : lists.flat();
}

export function listExamples() {
  const items = sentences().slice(0, MOST).map((text) => {
    const item = document.createElement("li");
    const button = element("button", "", text);
    button.type = "button";
    button.dir = "auto";
    item.append(button);
    return item;
  });
  $("examples-list").replaceChildren(...items);
  showExamples();
}

export function showExamples() {
  $("examples").hidden = now.mode !== "text" || Boolean($("source").value) || !$("examples-list").children.length;
}
