package movie;

import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import movie.MovieOuterClass.AddMovieResponse;
import movie.MovieOuterClass.AddMultipleMoviesResponse;
import movie.MovieOuterClass.ListMoviesRequest;
import movie.MovieOuterClass.Movie;

/** The movie service, its shelf in memory. Calls come on threads of grpc-java's pool. */
final class Movies extends MovieServiceGrpc.MovieServiceImplBase {
  private final TreeMap<Long, Movie> shelf = new TreeMap<>();

  @Override
  public void addMovie(Movie movie, StreamObserver<AddMovieResponse> reply) {
    if (movie.getTitle().isEmpty()) {
      reply.onError(untitled());
      return;
    }
    reply.onNext(AddMovieResponse.newBuilder().setMovieId(keep(List.of(movie)).get(0)).build());
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
      public void onError(Throwable cut) {}  // nothing has been kept

      @Override
      public void onCompleted() {
        if (upload.stream().anyMatch(movie -> movie.getTitle().isEmpty())) {
          reply.onError(untitled());
          return;
        }
        reply.onNext(AddMultipleMoviesResponse.newBuilder().addAllMovieIds(keep(upload)).build());
        reply.onCompleted();
      }
    };
  }

  @Override
  public void listMovies(ListMoviesRequest request, StreamObserver<Movie> replies) {
    CountDownLatch ended = new CountDownLatch(1);  // the deadline expires, or the client goes
    Context.current().addListener(call -> ended.countDown(), Runnable::run);
    try {
      for (Movie movie : all()) {
        if (ended.await(request.getPauseMs(), TimeUnit.MILLISECONDS)) return;
        replies.onNext(movie);
      }
      replies.onCompleted();
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
      replies.onError(Status.UNAVAILABLE.withDescription("the server ends").asRuntimeException());
    }
  }

  @Override
  public StreamObserver<Movie> watchTogether(StreamObserver<Movie> replies) {
    return new StreamObserver<>() {
      private boolean over = false;  // wishes may be under way when the call has failed

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

  private static StatusRuntimeException untitled() {
    return Status.INVALID_ARGUMENT.withDescription("a movie needs a title").asRuntimeException();
  }

  private synchronized List<Long> keep(List<Movie> movies) {
    List<Long> ids = new ArrayList<>();
    for (Movie movie : movies) {
      long id = shelf.size() + 1;
      shelf.put(id, movie.toBuilder().setId(id).clearViews().build());
      ids.add(id);
    }
    return ids;
  }

  private synchronized Movie watch(long id) {
    return shelf.computeIfPresent(id, (key, movie) -> movie.toBuilder().setViews(movie.getViews() + 1).build());
  }

  private synchronized List<Movie> all() {
    return List.copyOf(shelf.values());
  }
}
