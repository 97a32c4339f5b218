// expect: coracle::grpcpp has no Alarm yet
#include <grpcpp/grpcpp.h>
#ifdef MISUSE
#include <grpcpp/alarm.h>
#endif
