// foreign_loop_uv: a gRPC server and its client inside libuv's event loop.
#include "calls.hpp"
#include "uv_loop.hpp"

int main(int argc, char** argv) {
  uv_loop host;
  return run_calls(argc, argv, "foreign_loop_uv", host);
}
