package movie;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import movie.MovieOuterClass.AddMovieResponse;
import movie.MovieOuterClass.AddMultipleMoviesResponse;
import movie.MovieOuterClass.ListMoviesRequest;
import movie.MovieOuterClass.Movie;

/** The movie service with its shelf in memory: MovieServer [CERTIFICATE KEY]. */
public final class MovieServer extends MovieServiceGrpc.MovieServiceImplBase {
  private final TreeMap<Long, Movie> shelf = new TreeMap<>();

  private synchronized long keep(Movie movie) {
    long id = shelf.isEmpty() ? 1 : shelf.lastKey() + 1;
    shelf.put(id, movie.toBuilder().setId(id).build());
    return id;
  }

  private synchronized Movie watch(long id) {
    return shelf.computeIfPresent(id, (key, old) -> old.toBuilder().setViews(old.getViews() + 1).build());
  }

  private synchronized List<Movie> all() {
    return new ArrayList<>(shelf.values());
  }

  private static RuntimeException untitled() {
    return Status.INVALID_ARGUMENT.withDescription("a movie needs a title").asRuntimeException();
  }

  @Override
  public void addMovie(Movie movie, StreamObserver<AddMovieResponse> reply) {
    if (movie.getTitle().isEmpty()) {
      reply.onError(untitled());
      return;
    }
    reply.onNext(AddMovieResponse.newBuilder().setMovieId(keep(movie)).build());
    reply.onCompleted();
  }

  @Override
  public StreamObserver<Movie> addMultipleMovies(StreamObserver<AddMultipleMoviesResponse> reply) {
    List<Movie> upload = new ArrayList<>();
    return new StreamObserver<>() {
      @Override
      public void onNext(Movie movie) {
        upload.add(movie);
      }

      @Override
      public void onError(Throwable cut) {}  // nothing was kept

      @Override
      public void onCompleted() {
        AddMultipleMoviesResponse.Builder response = AddMultipleMoviesResponse.newBuilder();
        upload.forEach(movie -> response.addMovieIds(keep(movie)));
        reply.onNext(response.build());
        reply.onCompleted();
      }
    };
  }

  @Override
  public void listMovies(ListMoviesRequest request, StreamObserver<Movie> replies) {
    var call = (ServerCallStreamObserver<Movie>) replies;
    for (Movie movie : all()) {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(request.getPauseMs());
      while (System.nanoTime() < end && !call.isCancelled()) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
      }
      if (call.isCancelled()) return;
      call.onNext(movie);
    }
    call.onCompleted();
  }

  @Override
  public StreamObserver<Movie> watchTogether(StreamObserver<Movie> replies) {
    return new StreamObserver<>() {
      private boolean over = false;

      @Override
      public void onNext(Movie wish) {
        if (over) return;
        Movie movie = watch(wish.getId());
        if (movie != null) {
          replies.onNext(movie);
          return;
        }
        over = true;
        replies.onError(Status.NOT_FOUND.withDescription("no movie has the id " + wish.getId()).asRuntimeException());
      }

      @Override
      public void onError(Throwable gone) {}

      @Override
      public void onCompleted() {
        if (!over) replies.onCompleted();
      }
    };
  }

  public static void main(String[] words) throws Exception {
    ServerCredentials credentials = words.length == 2
        ? TlsServerCredentials.create(new File(words[0]), new File(words[1]))
        : InsecureServerCredentials.create();
    Server server = Grpc.newServerBuilderForPort(0, credentials).addService(new MovieServer()).build().start();
    System.out.println("listening on 127.0.0.1:" + server.getPort());
    System.out.flush();
    server.awaitTermination();
  }
}
