package movie.spring;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The profile server serves movies, the profile client calls who does; application.properties tells them apart. */
@SpringBootApplication
public class MovieApplication {
  public static void main(String[] arguments) {
    SpringApplication.run(MovieApplication.class, arguments);
  }
}
