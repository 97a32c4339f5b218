package movie;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import java.io.File;
import java.util.concurrent.TimeUnit;

/** Serves movies until SIGINT or SIGTERM: MovieServer PORT [CERTIFICATE KEY]. */
public final class MovieServer {
  private static final int GRACE_S = 5;

  public static void main(String[] words) throws Exception {
    if (words.length != 1 && words.length != 3) {
      System.err.println("usage: MovieServer PORT [CERTIFICATE KEY]");
      System.exit(2);
    }
    // PEM files; the key is PKCS#8, whose first line is BEGIN PRIVATE KEY.
    ServerCredentials credentials = words.length == 3
        ? TlsServerCredentials.create(new File(words[1]), new File(words[2]))
        : InsecureServerCredentials.create();
    Server server = Grpc.newServerBuilderForPort(Integer.parseInt(words[0]), credentials)
        .addService(new Movies())
        .build()
        .start();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server)));
    System.out.println("listening on 0.0.0.0:" + server.getPort());
    server.awaitTermination();
  }

  /** Lets calls in flight end within the grace. */
  private static void stop(Server server) {
    try {
      if (!server.shutdown().awaitTermination(GRACE_S, TimeUnit.SECONDS)) server.shutdownNow();
    } catch (InterruptedException interrupted) {
      server.shutdownNow();
    }
  }
}
