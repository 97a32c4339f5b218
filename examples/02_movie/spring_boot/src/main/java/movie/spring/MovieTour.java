package movie.spring;

import com.proto.movie.AddMultipleMoviesResponse;
import com.proto.movie.ListMoviesRequest;
import com.proto.movie.Movie;
import com.proto.movie.MovieGenre;
import com.proto.movie.MoviePerson;
import com.proto.movie.MovieServiceGrpc.MovieServiceBlockingV2Stub;
import com.proto.movie.WatchTogetherRequest;
import com.proto.movie.WatchTogetherResponse;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.CommandLineRunner;
import org.springframework.context.annotation.Profile;
import org.springframework.grpc.client.ImportGrpcClients;
import org.springframework.stereotype.Component;

/** Makes all four kinds of call and one whose deadline expires, and checks the replies. What it throws ends the application with 1. */
@Component
@Profile("client")
@ImportGrpcClients(target = "movies", types = MovieServiceBlockingV2Stub.class)
class MovieTour implements CommandLineRunner {
  private static final int PATIENCE_S = 20;  // for a slow machine; a call without a deadline could wait forever
  private static final int DEADLINE_S = 1;

  private final MovieServiceBlockingV2Stub stub;

  MovieTour(MovieServiceBlockingV2Stub stub) {
    this.stub = stub;
  }

  @Override
  public void run(String... arguments) throws Exception {
    String id = addOne();
    addMany();
    list(id);
    watch(id);
    missADeadline();
    show("done", "all calls returned what was expected");
  }

  private String addOne() throws Exception {
    String id = within(PATIENCE_S).addMovie(movie("Stalker", 1979, "Andrei", "Tarkovsky")).getMovieId();
    require(!id.isEmpty(), "AddMovie returned no id");
    show("unary", "AddMovie: Stalker has the id " + id);
    String refused = mustFail(() -> within(PATIENCE_S).addMovie(Movie.getDefaultInstance()), Status.Code.INVALID_ARGUMENT);
    show("unary", "AddMovie without a title: " + refused);
    return id;
  }

  private void addMany() throws Exception {
    BlockingClientCall<Movie, AddMultipleMoviesResponse> call = within(PATIENCE_S).addMultipleMovies();
    for (String title : List.of("Blue", "White", "Red")) call.write(movie(title, 1994, "Krzysztof", "Kieslowski"));
    call.halfClose();
    List<String> ids = call.read().getMovieIdsList();
    require(ids.size() == 3, "AddMultipleMovies returned " + ids.size() + " ids, not three");
    show("client streaming", "AddMultipleMovies: three movies, the last has the id " + ids.get(2));
  }

  private void list(String id) throws Exception {
    BlockingClientCall<?, Movie> movies = within(PATIENCE_S).listMovies(ListMoviesRequest.getDefaultInstance());
    int since = 0;  // movies from ours on: the server may hold others before it
    while (movies.hasNext()) {
      Movie movie = movies.read();
      if (since == 0 && !movie.getId().equals(id)) continue;
      if (++since > 4) continue;
      require(movie.getDirectorsCount() == 1, "ListMovies lost the director of " + movie.getTitle());
      show("server streaming", "ListMovies: " + movie.getTitle() + " by " + movie.getDirectors(0).getLastName());
    }
    require(since >= 4, "ListMovies did not return the four movies that were added");
  }

  private void watch(String id) throws Exception {
    BlockingClientCall<WatchTogetherRequest, WatchTogetherResponse> call = within(PATIENCE_S).watchTogether();
    for (int view = 1; view <= 3; ++view) {
      call.write(WatchTogetherRequest.newBuilder().setMovieId(id).build());
      WatchTogetherResponse reply = call.read();  // before the next request
      require(reply != null && reply.getViews() == view, "WatchTogether answered view " + view + " with " + reply);
      show("bidirectional", "WatchTogether: " + reply.getMovie().getTitle() + ", view " + view);
    }
    call.write(WatchTogetherRequest.newBuilder().setMovieId("unknown").build());
    show("bidirectional", "WatchTogether: " + mustFail(call::read, Status.Code.NOT_FOUND));
  }

  private void missADeadline() throws Exception {
    ListMoviesRequest slowly = ListMoviesRequest.newBuilder().setPauseMs(60_000).build();
    String missed = mustFail(() -> within(DEADLINE_S).listMovies(slowly).read(), Status.Code.DEADLINE_EXCEEDED);
    show("deadline", "ListMovies with pauses, within " + DEADLINE_S + " s: " + missed);
  }

  /** A deadline is a point in time: each call gets one of its own. */
  private MovieServiceBlockingV2Stub within(int seconds) {
    return stub.withDeadlineAfter(seconds, TimeUnit.SECONDS);
  }

  private interface Call {
    Object run() throws Exception;
  }

  private static String mustFail(Call call, Status.Code wanted) throws Exception {
    try {
      call.run();
    } catch (StatusException error) {
      require(error.getStatus().getCode() == wanted, "a call ended with " + error.getMessage() + ", not with " + wanted);
      return error.getMessage();
    }
    throw new IllegalStateException("a call succeeded, and did not end with " + wanted);
  }

  private static Movie movie(String title, int year, String firstName, String lastName) {
    MoviePerson director = MoviePerson.newBuilder().setFirstName(firstName).setLastName(lastName).build();
    return Movie.newBuilder().setTitle(title).addGenres(MovieGenre.DRAMA).setYearOfProduction(year)
        .addDirectors(director).build();
  }

  private static void require(boolean truth, String failure) {
    if (!truth) throw new IllegalStateException(failure);
  }

  private static void show(String step, String text) {
    System.out.printf("%-17s %s%n", step, text);
  }
}
