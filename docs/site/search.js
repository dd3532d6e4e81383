// entries are the parts of all pages: page, title, within, text.
const input = document.getElementById("words");
const found = document.getElementById("found");
const menu = document.getElementById("menu");

// score is how well an entry fits: all words must be in it, those of its title count more.
function score(entry, words) {
  const title = (entry.title + " " + entry.within).toLowerCase();
  const text = entry.text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const at = title.includes(word) ? 10 : 0;
    const times = text.split(word).length - 1;
    if (at + times === 0) return 0;
    sum += at + Math.min(times, 5);
  }
  return sum;
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 30);
  return (at > 0 ? "..." : "") + text.slice(at, at + 90) + "...";
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter((w) => w !== "");
  found.replaceChildren();
  menu.hidden = words.length > 0;
  if (words.length === 0) return;
  const best = entries
    .map((entry) => [score(entry, words), entry])
    .filter(([sum]) => sum > 0)
    .sort((a, b) => b[0] - a[0])
    .slice(0, 12);
  for (const [, entry] of best) {
    const link = document.createElement("a");
    link.href = entry.page;
    link.textContent = entry.title;
    const small = document.createElement("small");
    small.textContent = excerpt(entry.text, words[0]);
    link.append(small);
    found.append(link);
  }
  if (best.length === 0) found.textContent = "Nothing has all of these words.";
}

input.addEventListener("input", search);
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== input) {
    e.preventDefault();
    input.focus();
  }
});
search();
