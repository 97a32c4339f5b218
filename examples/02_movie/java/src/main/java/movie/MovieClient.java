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
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import movie.MovieOuterClass.AddMultipleMoviesResponse;
import movie.MovieOuterClass.ListMoviesRequest;
import movie.MovieOuterClass.Movie;

/** All four kinds of call and a deadline that expires, checked: MovieClient ADDRESS [CA]. */
public final class MovieClient {
  private static final int PATIENCE_S = 20;  // enough for a slow machine; a call without a deadline could wait for ever
  private static final int DEADLINE_S = 1;

  private final MovieServiceGrpc.MovieServiceBlockingStub blockingStub;
  private final MovieServiceGrpc.MovieServiceStub asyncStub;

  private MovieClient(ManagedChannel channel) {
    blockingStub = MovieServiceGrpc.newBlockingStub(channel);
    asyncStub = MovieServiceGrpc.newStub(channel);
  }

  /** A deadline is a point in time: each call gets one of its own. */
  private MovieServiceGrpc.MovieServiceBlockingStub blocking() {
    return blockingStub.withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
  }

  private MovieServiceGrpc.MovieServiceStub async() {
    return asyncStub.withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
  }

  private static Movie movie(String title, int year, String director) {
    return Movie.newBuilder().setTitle(title).setYear(year).setDirector(director).build();
  }

  private static void show(String step, String what) {
    System.out.printf("%-17s %s%n", step, what);
  }

  private static void require(boolean truth, String what) {
    if (!truth) throw new IllegalStateException("wrong: " + what);
  }

  private static String mustFail(Runnable call, Status.Code wanted) {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      require(error.getStatus().getCode() == wanted, error.getMessage() + " came, not " + wanted);
      return error.getMessage();
    }
    throw new IllegalStateException("wrong: a call succeeded that should have ended with " + wanted);
  }

  private long addOne() {
    long id = blocking().addMovie(movie("Stalker", 1979, "Andrei Tarkovsky")).getMovieId();
    show("unary", "AddMovie: Stalker has the id " + id);
    String refused = mustFail(() -> blocking().addMovie(Movie.getDefaultInstance()), Status.Code.INVALID_ARGUMENT);
    show("unary", "AddMovie without a title: " + refused);
    return id;
  }

  private void addMany() throws Exception {
    CompletableFuture<AddMultipleMoviesResponse> reply = new CompletableFuture<>();
    StreamObserver<Movie> movies = async().addMultipleMovies(new StreamObserver<>() {
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
    movies.onNext(movie("Blue", 1993, "Krzysztof Kieslowski"));
    movies.onNext(movie("White", 1994, "Krzysztof Kieslowski"));
    movies.onNext(movie("Red", 1994, "Krzysztof Kieslowski"));
    movies.onCompleted();
    List<Long> ids = reply.get().getMovieIdsList();
    require(ids.size() == 3, ids.size() + " movies were kept, not three");
    show("client streaming", "AddMultipleMovies: three movies, the last has the id " + ids.get(2));
  }

  private void list() {
    Iterator<Movie> movies = blocking().listMovies(ListMoviesRequest.getDefaultInstance());
    long last = 0;
    int count = 0;
    while (movies.hasNext()) {
      Movie movie = movies.next();
      require(movie.getId() > last, "the list is out of order");
      last = movie.getId();
      if (++count <= 4) show("server streaming", "ListMovies: " + last + " " + movie.getTitle());
    }
    require(count >= 4, "the list has only " + count + " movies");
  }

  private void watch(long id) throws Exception {
    BlockingQueue<Object> answers = new LinkedBlockingQueue<>();  // movies, and the status at the end
    StreamObserver<Movie> wishes = async().watchTogether(new StreamObserver<>() {
      @Override
      public void onNext(Movie movie) {
        answers.add(movie);
      }

      @Override
      public void onError(Throwable error) {
        answers.add(Status.fromThrowable(error));
      }

      @Override
      public void onCompleted() {
        answers.add(Status.OK);
      }
    });
    for (int view = 1; view <= 3; ++view) {
      wishes.onNext(Movie.newBuilder().setId(id).build());
      Object answer = answers.take();  // before the next wish is said
      require(answer instanceof Movie movie && movie.getViews() == view, "view " + view + " was answered with " + answer);
      show("bidirectional", "WatchTogether: " + ((Movie) answer).getTitle() + " for the " + view + ". time");
    }
    wishes.onNext(Movie.newBuilder().setId(1L << 40).build());
    Object end = answers.take();
    require(end instanceof Status status && status.getCode() == Status.Code.NOT_FOUND, "the end is " + end);
    show("bidirectional", "WatchTogether: " + ((Status) end).getDescription());
  }

  private void missADeadline() {
    ListMoviesRequest slowly = ListMoviesRequest.newBuilder().setPauseMs(60_000).build();
    String missed = mustFail(
        () -> blockingStub.withDeadlineAfter(DEADLINE_S, TimeUnit.SECONDS).listMovies(slowly).next(),
        Status.Code.DEADLINE_EXCEEDED);
    show("deadline", "ListMovies, slowly, within " + DEADLINE_S + " s: " + missed);
  }

  public static void main(String[] words) throws Exception {
    if (words.length != 1 && words.length != 2) {
      System.err.println("usage: MovieClient ADDRESS [CA]");
      System.exit(2);
    }
    ChannelCredentials credentials = words.length == 2
        ? TlsChannelCredentials.newBuilder().trustManager(new File(words[1])).build()
        : InsecureChannelCredentials.create();
    ManagedChannel channel = Grpc.newChannelBuilder(words[0], credentials).build();
    try {
      MovieClient client = new MovieClient(channel);
      long id = client.addOne();
      client.addMany();
      client.list();
      client.watch(id);
      client.missADeadline();
      show("done", "everything was right");
    } catch (Exception error) {
      System.err.println("MovieClient: " + error.getMessage());
      System.exit(1);
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }
}
