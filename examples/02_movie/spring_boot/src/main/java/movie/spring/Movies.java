package movie.spring;

import com.proto.movie.AddMovieResponse;
import com.proto.movie.AddMultipleMoviesResponse;
import com.proto.movie.ListMoviesRequest;
import com.proto.movie.Movie;
import com.proto.movie.MovieServiceGrpc;
import com.proto.movie.WatchTogetherRequest;
import com.proto.movie.WatchTogetherResponse;
import io.grpc.Context;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.springframework.context.annotation.Profile;
import org.springframework.context.event.EventListener;
import org.springframework.grpc.server.lifecycle.GrpcServerStartedEvent;
import org.springframework.grpc.server.service.GrpcService;

/** The movie service. MovieErrors maps what a handler throws to a status. */
@GrpcService
@Profile("server")
class Movies extends MovieServiceGrpc.MovieServiceImplBase {
  private final Shelf shelf;

  Movies(Shelf shelf) {
    this.shelf = shelf;
  }

  @EventListener
  void started(GrpcServerStartedEvent server) {
    System.out.println("listening on 127.0.0.1:" + server.getPort());
  }

  @Override
  public void addMovie(Movie movie, StreamObserver<AddMovieResponse> reply) {
    String id = shelf.keep(List.of(movie)).get(0);
    reply.onNext(AddMovieResponse.newBuilder().setMovieId(id).build());
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
        reply.onNext(AddMultipleMoviesResponse.newBuilder().addAllMovieIds(shelf.keep(upload)).build());
        reply.onCompleted();
      }
    };
  }

  @Override
  public void listMovies(ListMoviesRequest request, StreamObserver<Movie> replies) {
    CountDownLatch ended = new CountDownLatch(1);  // by its deadline or by the client
    Context.current().addListener(call -> ended.countDown(), Runnable::run);
    try {
      for (Movie movie : shelf.all()) {
        if (ended.await(request.getPauseMs(), TimeUnit.MILLISECONDS)) return;
        replies.onNext(movie);
      }
      replies.onCompleted();
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
      replies.onError(stop);
    }
  }

  @Override
  public StreamObserver<WatchTogetherRequest> watchTogether(StreamObserver<WatchTogetherResponse> replies) {
    return new StreamObserver<>() {
      @Override
      public void onNext(WatchTogetherRequest request) {
        replies.onNext(shelf.watch(request.getMovieId()));
      }

      @Override
      public void onError(Throwable gone) {}

      @Override
      public void onCompleted() {
        replies.onCompleted();
      }
    };
  }
}
