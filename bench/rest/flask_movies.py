"""The movie service as a route of Flask: POST a movie as JSON, and get its id. Run alone it is served by Flask's development server."""

from flask import Flask, request
from shelf import Shelf

app = Flask(__name__)
shelf = Shelf()


@app.post("/movies")
def add_movie():
    movie = request.get_json()
    if not movie.get("title"):
        return {"error": "a movie needs a title"}, 400
    return {"movie_id": shelf.add(request.get_data())}, 201


if __name__ == "__main__":
    from werkzeug.serving import make_server  # what app.run() calls, which does not tell its port

    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
