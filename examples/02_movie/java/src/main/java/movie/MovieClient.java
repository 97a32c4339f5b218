package movie;

import com.proto.movie.AddMultipleMoviesResponse;
import com.proto.movie.ListMoviesRequest;
import com.proto.movie.Movie;
import com.proto.movie.MovieGenre;
import com.proto.movie.MoviePerson;
import com.proto.movie.MovieServiceGrpc;
import com.proto.movie.WatchTogetherRequest;
import com.proto.movie.WatchTogetherResponse;
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

/** Makes all four kinds of call and one whose deadline expires, and checks the replies: MovieClient ADDRESS [CA]. */
public final class MovieClient {
  private static final int PATIENCE_S = 20;  // for a slow machine; a call without a deadline could wait forever
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

  private static Movie movie(String title, int year, String firstName, String lastName) {
    MoviePerson director = MoviePerson.newBuilder().setFirstName(firstName).setLastName(lastName).build();
    return Movie.newBuilder().setTitle(title).addGenres(MovieGenre.DRAMA).setYearOfProduction(year)
        .addDirectors(director).build();
  }

  private static void show(String step, String text) {
    System.out.printf("%-17s %s%n", step, text);
  }

  private static void require(boolean truth, String failure) {
    if (!truth) throw new IllegalStateException(failure);
  }

  private static String mustFail(Runnable call, Status.Code wanted) {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      require(error.getStatus().getCode() == wanted, "a call ended with " + error.getMessage() + ", not with " + wanted);
      return error.getMessage();
    }
    throw new IllegalStateException("a call succeeded, and did not end with " + wanted);
  }

  private String addOne() {
    String id = blocking().addMovie(movie("Stalker", 1979, "Andrei", "Tarkovsky")).getMovieId();
    require(!id.isEmpty(), "AddMovie returned no id");
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
    for (String title : List.of("Blue", "White", "Red")) {
      movies.onNext(movie(title, 1994, "Krzysztof", "Kieslowski"));
    }
    movies.onCompleted();
    List<String> ids = reply.get().getMovieIdsList();
    require(ids.size() == 3, "AddMultipleMovies returned " + ids.size() + " ids, not three");
    show("client streaming", "AddMultipleMovies: three movies, the last has the id " + ids.get(2));
  }

  private void list(String id) {
    Iterator<Movie> movies = blocking().listMovies(ListMoviesRequest.getDefaultInstance());
    int since = 0;  // movies from ours on: the server may hold others before it
    while (movies.hasNext()) {
      Movie movie = movies.next();
      if (since == 0 && !movie.getId().equals(id)) continue;
      if (++since > 4) continue;
      require(movie.getDirectorsCount() == 1, "ListMovies lost the director of " + movie.getTitle());
      show("server streaming", "ListMovies: " + movie.getTitle() + " by " + movie.getDirectors(0).getLastName());
    }
    require(since >= 4, "ListMovies did not return the four movies that were added");
  }

  private void watch(String id) throws Exception {
    BlockingQueue<Object> replies = new LinkedBlockingQueue<>();  // and the status at the end
    StreamObserver<WatchTogetherRequest> requests = async().watchTogether(new StreamObserver<>() {
      @Override
      public void onNext(WatchTogetherResponse reply) {
        replies.add(reply);
      }

      @Override
      public void onError(Throwable error) {
        replies.add(Status.fromThrowable(error));
      }

      @Override
      public void onCompleted() {
        replies.add(Status.OK);
      }
    });
    for (int view = 1; view <= 3; ++view) {
      requests.onNext(WatchTogetherRequest.newBuilder().setMovieId(id).build());
      Object next = replies.take();  // before the next request
      require(next instanceof WatchTogetherResponse, "WatchTogether ended with " + next);
      WatchTogetherResponse reply = (WatchTogetherResponse) next;
      require(reply.getViews() == view, "WatchTogether counted view " + view + " as " + reply.getViews());
      show("bidirectional", "WatchTogether: " + reply.getMovie().getTitle() + ", view " + view);
    }
    requests.onNext(WatchTogetherRequest.newBuilder().setMovieId("unknown").build());
    Object end = replies.take();
    require(end instanceof Status status && status.getCode() == Status.Code.NOT_FOUND, "the end is " + end);
    show("bidirectional", "WatchTogether: " + ((Status) end).getDescription());
  }

  private void missADeadline() {
    ListMoviesRequest slowly = ListMoviesRequest.newBuilder().setPauseMs(60_000).build();
    String missed = mustFail(
        () -> blockingStub.withDeadlineAfter(DEADLINE_S, TimeUnit.SECONDS).listMovies(slowly).next(),
        Status.Code.DEADLINE_EXCEEDED);
    show("deadline", "ListMovies with pauses, within " + DEADLINE_S + " s: " + missed);
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
      String id = client.addOne();
      client.addMany();
      client.list(id);
      client.watch(id);
      client.missADeadline();
      show("done", "all calls returned what was expected");
    } catch (Exception error) {
      System.err.println("MovieClient: " + error.getMessage());
      System.exit(1);
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }
}
