// expect: coracle::grpcpp has no ALTS
#include <grpcpp/grpcpp.h>
#ifdef MISUSE
#include <grpcpp/security/alts_context.h>
#endif
