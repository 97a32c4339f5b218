// foreign_loop_poll: a gRPC server and its client inside poll(2).
#include "calls.hpp"
#include "poll_loop.hpp"

int main(int argc, char** argv) {
  poll_loop host;
  return run_calls(argc, argv, "foreign_loop_poll", host);
}
