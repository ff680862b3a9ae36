// How the search ranks results: by Sphinx's own scores, but guides come before the reference and lists of links.
var Scorer = {
  score: ([page, title, anchor, text, score]) =>
    score - (/^(reference|contributing)|index$/.test(page) ? 4 : page === "gallery" ? 3 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
