// A library whose author uses Google's C core, by declarations of his own, so that it compiles beside the
// headers of coracle::grpcpp.
extern "C" {
void grpc_init();
void grpc_shutdown();
}
extern "C" void use_the_core() {
  grpc_init();
  grpc_shutdown();
}
