package movie.spring;

import com.proto.movie.Movie;
import com.proto.movie.WatchTogetherResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.springframework.stereotype.Repository;

/** The movies, in memory. Its exceptions are plain Java; MovieErrors maps them to statuses. */
@Repository
class Shelf {
  private final Map<String, Movie> movies = new LinkedHashMap<>();  // by id, in the order in which they were added
  private final Map<String, Integer> views = new HashMap<>();

  /** Adds all movies or none; returns their ids. */
  synchronized List<String> keep(List<Movie> all) {
    if (all.stream().anyMatch(movie -> movie.getTitle().isEmpty())) {
      throw new IllegalArgumentException("a movie needs a title");
    }
    List<String> ids = new ArrayList<>();
    for (Movie movie : all) {
      String id = String.valueOf(movies.size() + 1);
      movies.put(id, movie.toBuilder().setId(id).build());
      ids.add(id);
    }
    return ids;
  }

  /** Counts a view. */
  synchronized WatchTogetherResponse watch(String id) {
    Movie movie = movies.get(id);
    if (movie == null) throw new NoSuchElementException("no movie has this id");
    return WatchTogetherResponse.newBuilder().setMovie(movie).setViews(views.merge(id, 1, Integer::sum)).build();
  }

  synchronized List<Movie> all() {
    return List.copyOf(movies.values());
  }
}
