// The parts of bench_hello's file that take compile time before it serves anything: its messages, and its
// headers of std.
#include "helloworld.pb.h"

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  helloworld::HelloRequest request;
  request.set_name(argv[argc - 1]);
  helloworld::HelloReply reply;
  reply.set_message(request.name());
  std::printf("%zu\n", reply.ByteSizeLong());
}
