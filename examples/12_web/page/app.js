// The shelf: one stream of events fills it and keeps it up to date. What the server sends is shown as text, never as HTML.
const element = (id) => document.getElementById(id);
const shown_max = 500;  // the latest ones; the count goes on
let count = 0;

const make = (tag, name, text) => Object.assign(document.createElement(tag), { className: name, textContent: text });

// A colour that a title has each time.
const hue = (title) => [...title].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);

const card = ({ title, yearOfProduction, genres = [], directors = [] }) => {
  const poster = make("span", "poster", [...title][0]);
  poster.ariaHidden = "true";
  poster.style.setProperty("--hue", hue(title));
  const by = directors.map(({ firstName = "", lastName = "" }) => `${firstName} ${lastName}`.trim()).join(", ");
  const facts = [yearOfProduction, by, ...genres.map((genre) => genre.toLowerCase().replace("_", "-"))];
  const item = make("li", "movie", "");
  item.append(poster, make("strong", "", title), make("span", "facts", facts.filter(Boolean).join(" · ")));
  return item;
};

// The browser connects again by itself, and names the last event that it has got.
const events = new EventSource("events");
events.onopen = () => { element("connection").textContent = "live"; };
events.onerror = () => { element("connection").textContent = "connecting"; };
events.onmessage = ({ data }) => {
  element("count").textContent = ++count;
  element("movies").prepend(card(JSON.parse(data)));
  if (element("movies").children.length > shown_max) element("movies").lastChild.remove();
};

const movie_of = (form) => {
  const [firstName, lastName] = form.get("director").trim().split(/ (?=\S+$)/);
  return {
    title: form.get("title").trim(),
    genres: [form.get("genre")],
    directors: firstName ? [lastName ? { firstName, lastName } : { lastName: firstName }] : [],
    yearOfProduction: Number(form.get("year")),
  };
};

// AddMovie by its REST route. The new movie arrives as an event, as those of other clients do.
const add = async (form) => {
  const response = await fetch("v1/movies", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(movie_of(new FormData(form))),
  });
  if (!response.ok) throw new Error((await response.json()).message);  // a google.rpc.Status
  form.reset();
  form.title.focus();
};

element("add").addEventListener("submit", (event) => {
  event.preventDefault();
  element("error").textContent = "";
  add(event.target).catch((error) => { element("error").textContent = error.message; });
});
