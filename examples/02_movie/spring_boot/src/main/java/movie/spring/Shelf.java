package movie.spring;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import movie.MovieOuterClass.Movie;
import org.springframework.stereotype.Repository;

/** The movies, in memory. Its exceptions know nothing of gRPC: MovieErrors does. */
@Repository
class Shelf {
  private final TreeMap<Long, Movie> movies = new TreeMap<>();

  /** All of them or none; their ids. */
  synchronized List<Long> keep(List<Movie> all) {
    if (all.stream().anyMatch(movie -> movie.getTitle().isEmpty())) {
      throw new IllegalArgumentException("a movie needs a title");
    }
    List<Long> ids = new ArrayList<>();
    for (Movie movie : all) {
      long id = movies.size() + 1;
      movies.put(id, movie.toBuilder().setId(id).clearViews().build());
      ids.add(id);
    }
    return ids;
  }

  /** Counts a view. */
  synchronized Movie watch(long id) {
    Movie seen = movies.computeIfPresent(id, (key, movie) -> movie.toBuilder().setViews(movie.getViews() + 1).build());
    if (seen == null) throw new NoSuchElementException("no movie has the id " + id);
    return seen;
  }

  synchronized List<Movie> all() {
    return List.copyOf(movies.values());
  }
}
