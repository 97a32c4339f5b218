// What bench_hello's file costs to compile before it serves anything: its messages, and the headers of std
// that it has.
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
