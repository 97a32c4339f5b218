// --8<-- [start:sample]
export async function visitByRest(host) {  // "http://localhost:50051"
  const response = await fetch(`${host}/v1/movies`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title: "Nosferatu", yearOfProduction: 1922 }),
    signal: AbortSignal.timeout(5000),
  });
  if (!response.ok) throw new Error((await response.json()).message);
  const { movieId } = await response.json();

  const titles = [];
  const status = await new Promise((done, failed) => {
    const source = new EventSource(`${host}/v1/movies`);
    source.onmessage = (event) => titles.push(JSON.parse(event.data).title);
    source.addEventListener("end", (event) => {
      source.close();  // otherwise the browser connects again
      done(JSON.parse(event.data));
    });
    source.onerror = () => {
      source.close();
      failed(new Error("the stream broke"));
    };
  });
  if (status.code) throw new Error(status.message);
  return { movieId, titles };
}
// --8<-- [end:sample]
