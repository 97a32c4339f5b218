"""The movie service on Python's own gRPC: ten threads, as in its tutorial."""

from concurrent import futures

import grpc
import movie_pb2
import movie_pb2_grpc
from shelf import Shelf


class Movies(movie_pb2_grpc.MovieServiceServicer):
    def __init__(self):
        self.shelf = Shelf()

    def AddMovie(self, request, context):
        if not request.title:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a movie needs a title")
        return movie_pb2.AddMovieResponse(movie_id=self.shelf.add(request.SerializeToString()))


if __name__ == "__main__":
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=10))
    movie_pb2_grpc.add_MovieServiceServicer_to_server(Movies(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    server.wait_for_termination()
