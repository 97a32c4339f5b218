// expect: coracle::grpcpp has no callback API yet
#include <grpcpp/support/client_callback.h>

struct message {};
#ifdef MISUSE
struct reactor : grpc::ClientReadReactor<message> {};
void use() { reactor one; }
#endif
void use(grpc::ClientReadReactor<message>*) {}
