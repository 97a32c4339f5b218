// grpcpp_serving: the common start of the servers on grpc++.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace bench {

inline std::string text_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// PORT [CERT KEY], as for bench_greeter; ends the program if they are invalid.
inline std::shared_ptr<grpc::ServerCredentials> credentials_of(const char* program, int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: %s PORT [CERT KEY]\n", program);
    std::exit(2);
  }
  if (argc == 2) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({text_of(argv[3]), text_of(argv[2])});
  return grpc::SslServerCredentials(options);
}

inline void announce(int port) {
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
}

}  // namespace bench
