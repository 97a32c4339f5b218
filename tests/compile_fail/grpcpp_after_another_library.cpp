// expect: a source file includes the headers of coracle::grpcpp and of another grpc++
#ifdef MISUSE
#define GRPC_SUPPORT_PORT_PLATFORM_H  // as the other library's headers do
#endif
#include <grpcpp/grpcpp.h>
