package movie.spring;

import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.util.List;
import java.util.concurrent.TimeUnit;
import movie.MovieOuterClass.AddMultipleMoviesResponse;
import movie.MovieOuterClass.ListMoviesRequest;
import movie.MovieOuterClass.Movie;
import movie.MovieServiceGrpc.MovieServiceBlockingV2Stub;
import org.springframework.boot.CommandLineRunner;
import org.springframework.context.annotation.Profile;
import org.springframework.grpc.client.ImportGrpcClients;
import org.springframework.stereotype.Component;

/** All four kinds of call and a deadline that expires, checked. What it throws ends the application with 1. */
@Component
@Profile("client")
@ImportGrpcClients(target = "movies", types = MovieServiceBlockingV2Stub.class)
class MovieTour implements CommandLineRunner {
  private static final int PATIENCE_S = 20;  // enough for a slow machine; a call without a deadline could wait for ever
  private static final int DEADLINE_S = 1;

  private final MovieServiceBlockingV2Stub stub;

  MovieTour(MovieServiceBlockingV2Stub stub) {
    this.stub = stub;
  }

  @Override
  public void run(String... arguments) throws Exception {
    long id = addOne();
    addMany();
    list();
    watch(id);
    missADeadline();
    show("done", "everything was right");
  }

  private long addOne() throws Exception {
    long id = within(PATIENCE_S).addMovie(movie("Stalker", 1979, "Andrei Tarkovsky")).getMovieId();
    show("unary", "AddMovie: Stalker has the id " + id);
    String refused = mustFail(() -> within(PATIENCE_S).addMovie(Movie.getDefaultInstance()), Status.Code.INVALID_ARGUMENT);
    show("unary", "AddMovie without a title: " + refused);
    return id;
  }

  private void addMany() throws Exception {
    BlockingClientCall<Movie, AddMultipleMoviesResponse> call = within(PATIENCE_S).addMultipleMovies();
    call.write(movie("Blue", 1993, "Krzysztof Kieslowski"));
    call.write(movie("White", 1994, "Krzysztof Kieslowski"));
    call.write(movie("Red", 1994, "Krzysztof Kieslowski"));
    call.halfClose();
    List<Long> ids = call.read().getMovieIdsList();
    require(ids.size() == 3, ids.size() + " movies were kept, not three");
    show("client streaming", "AddMultipleMovies: three movies, the last has the id " + ids.get(2));
  }

  private void list() throws Exception {
    BlockingClientCall<?, Movie> movies = within(PATIENCE_S).listMovies(ListMoviesRequest.getDefaultInstance());
    long last = 0;
    int count = 0;
    while (movies.hasNext()) {
      Movie movie = movies.read();
      require(movie.getId() > last, "the list is out of order");
      last = movie.getId();
      if (++count <= 4) show("server streaming", "ListMovies: " + last + " " + movie.getTitle());
    }
    require(count >= 4, "the list has only " + count + " movies");
  }

  private void watch(long id) throws Exception {
    BlockingClientCall<Movie, Movie> call = within(PATIENCE_S).watchTogether();
    for (int view = 1; view <= 3; ++view) {
      call.write(Movie.newBuilder().setId(id).build());
      Movie movie = call.read();  // answered before the next wish is said
      require(movie != null && movie.getViews() == view, "view " + view + " was answered with " + movie);
      show("bidirectional", "WatchTogether: " + movie.getTitle() + " for the " + view + ". time");
    }
    call.write(Movie.newBuilder().setId(1L << 40).build());
    show("bidirectional", "WatchTogether: " + mustFail(call::read, Status.Code.NOT_FOUND));
  }

  private void missADeadline() throws Exception {
    ListMoviesRequest slowly = ListMoviesRequest.newBuilder().setPauseMs(60_000).build();
    String missed = mustFail(() -> within(DEADLINE_S).listMovies(slowly).read(), Status.Code.DEADLINE_EXCEEDED);
    show("deadline", "ListMovies, slowly, within " + DEADLINE_S + " s: " + missed);
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
      require(error.getStatus().getCode() == wanted, error.getMessage() + " came, not " + wanted);
      return error.getMessage();
    }
    throw new IllegalStateException("wrong: a call succeeded that should have ended with " + wanted);
  }

  private static Movie movie(String title, int year, String director) {
    return Movie.newBuilder().setTitle(title).setYear(year).setDirector(director).build();
  }

  private static void require(boolean truth, String what) {
    if (!truth) throw new IllegalStateException("wrong: " + what);
  }

  private static void show(String step, String what) {
    System.out.printf("%-17s %s%n", step, what);
  }
}
