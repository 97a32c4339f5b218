package movie;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import movie.MovieOuterClass.AddMultipleMoviesResponse;
import movie.MovieOuterClass.ListMoviesRequest;
import movie.MovieOuterClass.Movie;

/** All four kinds of call and an expired deadline: MovieClient ADDRESS [CA]. */
public final class MovieClient {
  private static final int LIMIT_S = 20;
  private final ManagedChannel channel;

  private MovieClient(ManagedChannel channel) {
    this.channel = channel;
  }

  private MovieServiceGrpc.MovieServiceBlockingStub blocking() {
    return MovieServiceGrpc.newBlockingStub(channel).withDeadlineAfter(LIMIT_S, TimeUnit.SECONDS);
  }

  private MovieServiceGrpc.MovieServiceStub async() {
    return MovieServiceGrpc.newStub(channel).withDeadlineAfter(LIMIT_S, TimeUnit.SECONDS);
  }

  private static Movie movie(String title) {
    return Movie.newBuilder().setTitle(title).setYear(1979).build();
  }

  private static void equal(Object found, Object wanted, String what) {
    if (!found.equals(wanted)) throw new AssertionError(what + " is " + found + ", not " + wanted);
  }

  private static void fails(Runnable call, Status.Code wanted) {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      equal(error.getStatus().getCode(), wanted, "the code of '" + error.getStatus().getDescription() + "'");
      return;
    }
    throw new AssertionError("a call succeeded that should have failed with " + wanted);
  }

  private long unary() {
    fails(() -> blocking().addMovie(Movie.getDefaultInstance()), Status.Code.INVALID_ARGUMENT);
    return blocking().addMovie(movie("Stalker")).getMovieId();
  }

  private void clientStreaming() throws Exception {
    CompletableFuture<AddMultipleMoviesResponse> reply = new CompletableFuture<>();
    StreamObserver<Movie> upload = async().addMultipleMovies(new StreamObserver<>() {
      @Override
      public void onNext(AddMultipleMoviesResponse response) {
        reply.complete(response);
      }

      @Override
      public void onError(Throwable error) {
        reply.completeExceptionally(error);
      }

      @Override
      public void onCompleted() {}
    });
    for (int part = 0; part < 100; ++part) upload.onNext(movie("part " + part));
    upload.onCompleted();
    equal(reply.get(LIMIT_S, TimeUnit.SECONDS).getMovieIdsCount(), 100, "the number of movies kept");
  }

  private void serverStreaming() {
    long last = 0;
    Iterator<Movie> movies = blocking().listMovies(ListMoviesRequest.getDefaultInstance());
    while (movies.hasNext()) {
      long id = movies.next().getId();
      equal(id > last, true, "the order of " + last + " and " + id);
      last = id;
    }
    equal(last > 100, true, "that the whole shelf came");
  }

  private void bidirectional(long id) throws Exception {
    LinkedBlockingQueue<Object> answers = new LinkedBlockingQueue<>();
    StreamObserver<Movie> wishes = async().watchTogether(new StreamObserver<>() {
      @Override
      public void onNext(Movie movie) {
        answers.add(movie.getViews());
      }

      @Override
      public void onError(Throwable error) {
        answers.add(Status.fromThrowable(error).getCode());
      }

      @Override
      public void onCompleted() {
        answers.add(Status.Code.OK);
      }
    });
    for (int view = 1; view <= 3; ++view) {
      wishes.onNext(Movie.newBuilder().setId(id).build());
      equal(answers.poll(LIMIT_S, TimeUnit.SECONDS), view, "the answer before the next wish");
    }
    wishes.onNext(Movie.newBuilder().setId(1L << 40).build());
    equal(answers.poll(LIMIT_S, TimeUnit.SECONDS), Status.Code.NOT_FOUND, "the end");
  }

  private void deadline() {
    ListMoviesRequest slowly = ListMoviesRequest.newBuilder().setPauseMs(60_000).build();
    fails(
        () -> MovieServiceGrpc.newBlockingStub(channel)
            .withDeadlineAfter(300, TimeUnit.MILLISECONDS)
            .listMovies(slowly)
            .forEachRemaining(movie -> {}),
        Status.Code.DEADLINE_EXCEEDED);
  }

  public static void main(String[] words) throws Exception {
    ChannelCredentials credentials = words.length == 2
        ? TlsChannelCredentials.newBuilder().trustManager(new File(words[1])).build()
        : InsecureChannelCredentials.create();
    ManagedChannel channel = Grpc.newChannelBuilder(words[0], credentials).build();
    try {
      MovieClient client = new MovieClient(channel);
      long id = client.unary();
      client.clientStreaming();
      client.serverStreaming();
      client.bidirectional(id);
      client.deadline();
      System.out.println("everything was right");
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
    System.exit(0);
  }
}
