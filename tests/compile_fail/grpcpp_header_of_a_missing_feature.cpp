// expect: coracle::grpcpp has no GenericStub yet
#include <grpcpp/grpcpp.h>
#ifdef MISUSE
#include <grpcpp/generic/generic_stub.h>
#endif
