package movie;

import com.proto.movie.AddMovieResponse;
import com.proto.movie.AddMultipleMoviesResponse;
import com.proto.movie.ListMoviesRequest;
import com.proto.movie.Movie;
import com.proto.movie.MovieServiceGrpc;
import com.proto.movie.WatchTogetherRequest;
import com.proto.movie.WatchTogetherResponse;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The movie service, with its movies in memory. grpc-java calls it on threads of a pool. */
final class Movies extends MovieServiceGrpc.MovieServiceImplBase {
  private final Map<String, Movie> shelf = new LinkedHashMap<>();  // by id, in the order in which they were added
  private final Map<String, Integer> views = new HashMap<>();

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
      public void onError(Throwable cut) {}  // adds nothing

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
    CountDownLatch ended = new CountDownLatch(1);  // by its deadline or by the client
    Context.current().addListener(call -> ended.countDown(), Runnable::run);
    try {
      for (Movie movie : all()) {
        if (ended.await(request.getPauseMs(), TimeUnit.MILLISECONDS)) return;
        replies.onNext(movie);
      }
      replies.onCompleted();
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
      replies.onError(Status.UNAVAILABLE.withDescription("the server shuts down").asRuntimeException());
    }
  }

  @Override
  public StreamObserver<WatchTogetherRequest> watchTogether(StreamObserver<WatchTogetherResponse> replies) {
    return new StreamObserver<>() {
      private boolean ended = false;  // requests may still arrive after the call has failed

      @Override
      public void onNext(WatchTogetherRequest request) {
        if (ended) return;
        WatchTogetherResponse reply = watch(request.getMovieId());
        if (reply != null) {
          replies.onNext(reply);
          return;
        }
        ended = true;
        replies.onError(Status.NOT_FOUND.withDescription("no movie has this id").asRuntimeException());
      }

      @Override
      public void onError(Throwable gone) {}

      @Override
      public void onCompleted() {
        if (!ended) replies.onCompleted();
      }
    };
  }

  private static StatusRuntimeException untitled() {
    return Status.INVALID_ARGUMENT.withDescription("a movie needs a title").asRuntimeException();
  }

  private synchronized List<String> keep(List<Movie> movies) {
    List<String> ids = new ArrayList<>();
    for (Movie movie : movies) {
      String id = String.valueOf(shelf.size() + 1);
      shelf.put(id, movie.toBuilder().setId(id).build());
      ids.add(id);
    }
    return ids;
  }

  /** Counts a view; null if no movie has the id. */
  private synchronized WatchTogetherResponse watch(String id) {
    Movie movie = shelf.get(id);
    if (movie == null) return null;
    return WatchTogetherResponse.newBuilder().setMovie(movie).setViews(views.merge(id, 1, Integer::sum)).build();
  }

  private synchronized List<Movie> all() {
    return List.copyOf(shelf.values());
  }
}
