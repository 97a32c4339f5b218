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

// Movies to begin with: a press adds one.
const ideas = [
  { title: "Metropolis", yearOfProduction: 1927, genres: ["SCI_FI"], directors: [{ firstName: "Fritz", lastName: "Lang" }] },
  { title: "Seven Samurai", yearOfProduction: 1954, genres: ["ACTION"], directors: [{ firstName: "Akira", lastName: "Kurosawa" }] },
  { title: "Psycho", yearOfProduction: 1960, genres: ["THRILLER"], directors: [{ firstName: "Alfred", lastName: "Hitchcock" }] },
  { title: "Playtime", yearOfProduction: 1967, genres: ["COMEDY"], directors: [{ firstName: "Jacques", lastName: "Tati" }] },
  { title: "Cléo from 5 to 7", yearOfProduction: 1962, genres: ["DRAMA"], directors: [{ firstName: "Agnès", lastName: "Varda" }] },
  { title: "Solaris", yearOfProduction: 1972, genres: ["SCI_FI"], directors: [{ firstName: "Andrei", lastName: "Tarkovsky" }] },
];
const known = new Set();

const show_ideas = () => {
  const left = ideas.filter(({ title }) => !known.has(title));
  element("ideas").hidden = left.length === 0;
  element("ideas").querySelector("ul").replaceChildren(...left.map((movie) => {
    const item = card(movie);
    const button = make("button", "", "Add");
    button.ariaLabel = `Add ${movie.title}`;
    button.onclick = () => attempt(() => send(movie));
    item.append(button);
    return item;
  }));
};

// The browser connects again by itself, and names the last event that it has got.
const events = new EventSource("events");
const tell_connection = (state, text) => {
  element("connection").className = state;
  element("connection").textContent = text;
};
events.onopen = () => tell_connection("live", "live: what others add appears here at once");
events.onerror = () => tell_connection("", "connecting …");
events.onmessage = ({ data }) => {
  const movie = JSON.parse(data);
  element("count").textContent = ++count;
  element("movies").prepend(card(movie));
  known.add(movie.title);
  show_ideas();
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
const send = async (movie) => {
  const response = await fetch("v1/movies", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(movie),
  });
  if (!response.ok) throw new Error((await response.json()).message);  // a google.rpc.Status
};

const add = async (form) => {
  await send(movie_of(new FormData(form)));
  form.reset();
  form.elements.title.focus();
};

const attempt = (action) => {
  element("error").textContent = "";
  action().catch((error) => { element("error").textContent = error.message; });
};

element("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const { title } = event.target.elements;
  title.ariaInvalid = String(title.value.trim() === "");  // the server rejects it, and says why
  attempt(() => add(event.target));
});

for (const host of document.querySelectorAll(".host")) host.textContent = location.protocol === "http:" ? `${location.host} -p` : location.host;
show_ideas();
