package movie.spring;

import io.grpc.Status;
import java.util.NoSuchElementException;
import org.springframework.grpc.server.advice.GrpcAdvice;
import org.springframework.grpc.server.advice.GrpcExceptionHandler;

/** What a client is told when a handler throws. Public, or Spring gRPC could not call it. */
@GrpcAdvice
public class MovieErrors {
  @GrpcExceptionHandler
  public Status invalid(IllegalArgumentException error) {
    return Status.INVALID_ARGUMENT.withDescription(error.getMessage());
  }

  @GrpcExceptionHandler
  public Status missing(NoSuchElementException error) {
    return Status.NOT_FOUND.withDescription(error.getMessage());
  }
}
