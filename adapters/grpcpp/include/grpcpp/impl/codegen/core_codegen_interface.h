// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no C library behind an interface: use the functions of grpc/grpc.h"
