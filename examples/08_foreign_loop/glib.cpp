// foreign_loop_glib: a gRPC server and its client inside GLib's event loop.
#include "calls.hpp"
#include "glib_loop.hpp"

int main(int argc, char** argv) {
  glib_loop host;
  return run_calls(argc, argv, "foreign_loop_glib", host);
}
