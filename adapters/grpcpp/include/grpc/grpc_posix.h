// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no functions of the C library for descriptors: use grpcpp/create_channel_posix.h, grpcpp/server_posix.h"
